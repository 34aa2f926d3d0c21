"""The keys that Microsoft signs with, fetched without holding up the event loop.

botbuilder fetches them with a blocking call without a deadline, and fails on a key it does not
know instead of fetching anew. Here its store is filled beforehand, so that it never has to.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import aiohttp
import jwt
from botframework.connector.auth.jwt_token_extractor import JwtTokenExtractor

from bot.adapters.teams.calling.errors import KeysUnavailable

_FRESH_SECONDS = 12 * 3600.0
_USABLE_SECONDS = 23 * 3600.0
_UNKNOWN_KEY_PAUSE_SECONDS = 300.0
_FAILED_PAUSE_SECONDS = 10.0
_TIMEOUT_SECONDS = 10.0
_NO_KEYS = "{!r} gives no keys. Check the network."
_ENDORSED = "msteams"
"""What a key has to be published for; botbuilder lets one that is for nothing sign anything."""


class SigningKeys:
    """The keys behind one metadata address."""

    def __init__(self, metadata_url: str) -> None:
        self._url = metadata_url
        self._store = JwtTokenExtractor.get_open_id_metadata(metadata_url)
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._failed = False
        self._lock = asyncio.Lock()

    @property
    def trouble(self) -> str:
        """Say why nobody can be let in, "" while somebody can, or before it was tried."""
        tried = self._tried_at is not None
        return _NO_KEYS.format(self._url) if tried and self._age() > _USABLE_SECONDS else ""

    async def named(self, key_id: str) -> jwt.PyJWK | None:
        """Return a key for Teams, after fetching when that may help; None for an unknown one.

        Raises KeysUnavailable, also while that may be a new one, and jwt.PyJWKError.
        """
        if self._is_stale() or (key_id not in self._ids() and self._may_try()):
            async with self._lock:
                await self._refresh(key_id)
        found = next((key for key in self._store.keys if key["kid"] == key_id), None)
        if found is None and self._failed:
            raise KeysUnavailable(_NO_KEYS.format(self._url))
        return jwt.PyJWK(found, algorithm="RS256") if found else None

    async def prefetch(self) -> None:
        """Fetch the keys unless they are fresh. Raises KeysUnavailable."""
        async with self._lock:
            if self._is_stale():
                await self._fetch()

    async def _refresh(self, key_id: str) -> None:
        """Fetch unless another request did so meanwhile; yesterday's keys outlive an outage."""
        if not self._is_stale() and (key_id in self._ids() or not self._may_try()):
            return
        try:
            await self._fetch()
        except KeysUnavailable:
            if self._age() > _USABLE_SECONDS:
                raise

    async def _fetch(self) -> None:
        self._tried_at, self._failed = time.monotonic(), True
        try:
            keys = await _download(self._url)
        except (
            aiohttp.ClientError,
            TimeoutError,
            OSError,
            ValueError,
            KeyError,
            TypeError,
        ) as error:
            raise KeysUnavailable(_NO_KEYS.format(self._url)) from error
        self._store.keys = keys
        self._store.last_updated = datetime.now(UTC).astimezone().replace(tzinfo=None)
        self._fetched_at, self._failed = time.monotonic(), False

    def _ids(self) -> frozenset[str]:
        return (
            frozenset(key["kid"] for key in self._store.keys) if self._fetched_at else frozenset()
        )

    def _age(self) -> float:
        return float("inf") if self._fetched_at is None else time.monotonic() - self._fetched_at

    def _is_stale(self) -> bool:
        return self._age() > _FRESH_SECONDS

    def _may_try(self) -> bool:
        pause = _FAILED_PAUSE_SECONDS if self._failed else _UNKNOWN_KEY_PAUSE_SECONDS
        return self._tried_at is None or time.monotonic() - self._tried_at > pause


async def _download(url: str) -> list[dict[str, object]]:
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as session:
        async with session.get(url) as response:
            keys_url = (await response.json(content_type=None))["jwks_uri"]
        async with session.get(keys_url) as response:
            keys = (await response.json(content_type=None))["keys"]
    return [key for key in keys if _is_for_teams(key)]


def _is_for_teams(key: dict[str, object]) -> bool:
    named = key.get("kty") == "RSA" and isinstance(key.get("kid"), str)
    endorsed = key.get("endorsements")
    return named and isinstance(endorsed, list) and _ENDORSED in endorsed

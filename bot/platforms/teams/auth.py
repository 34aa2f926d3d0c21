"""Authenticate requests: only Microsoft's bot service, for our bot, from our company.

The signing keys are fetched without blocking the event loop. botbuilder fetches them with a
blocking call without a timeout, and fails on an unknown key instead of fetching again. Here its key
store is filled beforehand, so that it never fetches.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp
import jwt
import structlog
from aiohttp import web
from botbuilder.integration.aiohttp import CloudAdapter
from botbuilder.schema import Activity
from botframework.connector.auth import AuthenticateRequestResult, BotFrameworkAuthentication
from botframework.connector.auth.jwt_token_extractor import JwtTokenExtractor

from bot.platforms.teams.client.errors import KeysUnavailable
from bot.platforms.teams.payloads.activity import Body, tenant_of, text_at

_FRESH_SECONDS = 12 * 3600.0
_USABLE_SECONDS = 23 * 3600.0  # After 24 hours botbuilder would fetch the keys itself.
_UNKNOWN_KEY_PAUSE_SECONDS = 300.0
_FAILED_PAUSE_SECONDS = 10.0
_KEYS_TIMEOUT_SECONDS = 10.0
_NO_KEYS = "{!r} gives no keys. Check the network."
_ENDORSEMENT = "msteams"
"""Required endorsement of a key; botbuilder accepts a key without any for every channel."""


class SigningKeys:
    """The signing keys of one OpenID metadata URL."""

    def __init__(self, metadata_url: str) -> None:
        self._url = metadata_url
        self._store = JwtTokenExtractor.get_open_id_metadata(metadata_url)
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._failed = False
        self._lock = asyncio.Lock()

    @property
    def trouble(self) -> str:
        """Return why no request can be authenticated; "" if one can, or before the first fetch."""
        tried = self._tried_at is not None
        return _NO_KEYS.format(self._url) if tried and self._age() > _USABLE_SECONDS else ""

    async def key(self, key_id: str) -> jwt.PyJWK | None:
        """Return a key by id, fetched again if that may help; None for an unknown one.

        Raises KeysUnavailable, also if an unknown key may be new and the fetch failed, and
        jwt.PyJWKError.
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
        """Fetch the keys unless another request just did; old keys stay usable in an outage."""
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
    timeout = aiohttp.ClientTimeout(total=_KEYS_TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as session:
        async with session.get(url) as response:
            keys_url = (await response.json(content_type=None))["jwks_uri"]
        async with session.get(keys_url) as response:
            keys = (await response.json(content_type=None))["keys"]
    return [key for key in keys if _is_for_teams(key)]


def _is_for_teams(key: dict[str, object]) -> bool:
    named = key.get("kty") == "RSA" and isinstance(key.get("kid"), str)
    endorsed = key.get("endorsements")
    return named and isinstance(endorsed, list) and _ENDORSEMENT in endorsed


_TEAMS_CHANNEL_ID = "msteams"
_ALGORITHMS = ["RS256"]
_LEEWAY_SECONDS = 300.0  # The clock tolerance of botbuilder.
_REQUIRED_CLAIMS = ["exp", "iss", "aud"]
"""Claims a token must have; PyJWT checks the expiry only if the token has one."""

_LOCAL_URL = re.compile(
    r"https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?(?:/[\w./~-]*)?", re.ASCII
)
"""Nothing that one reads as another host than the next: ``http://evil.example\\@127.0.0.1/``."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RequestAuthenticator:
    """Rejects requests with 401 (invalid token), 403 (not allowed) or 503 (no keys), never 500.

    ``check`` runs before the body is read, as parsing a body that anybody may send costs seconds.
    ``keys`` None is for development: all requests with a connector on this machine are admitted.
    """

    authentication: BotFrameworkAuthentication
    keys: SigningKeys | None
    issuer: str
    app_id: str | None
    entra_tenant: str | None

    async def check(self, header: str) -> None:
        """Reject a request without a currently valid token of the bot service for our bot."""
        if self.keys is None:
            return
        scheme, _, token = header.partition(" ")
        if scheme != "Bearer":
            raise web.HTTPUnauthorized(text="A token is needed.")
        try:
            jwt.decode(
                token,
                await self._key_of(token, self.keys),
                algorithms=_ALGORITHMS,
                audience=self.app_id,
                issuer=self.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": _REQUIRED_CLAIMS},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            log.info("teams.token_refused", error=type(error).__name__)
            raise web.HTTPUnauthorized(text="The token is not valid.") from error

    async def admit(self, header: str, body: Body, activity: Activity) -> AuthenticateRequestResult:
        """Return botbuilder's authentication result for the activity of a checked request.

        Raises aiohttp's HTTP errors.
        """
        if self.keys is None:
            if not _LOCAL_URL.fullmatch(text_at(body, "serviceUrl")):
                raise web.HTTPForbidden(text="Development mode answers this machine only.")
            return await self.authentication.authenticate_request(activity, None)
        if not text_at(body, "serviceUrl"):
            # botbuilder compares the token's service URL with the activity's only if it has one.
            log.info("teams.token_refused", error="The activity has no serviceUrl.")
            raise web.HTTPUnauthorized(text="The token is not for this activity.")
        admitted = await self._authenticated(header, activity)
        if text_at(body, "channelId") != _TEAMS_CHANNEL_ID:
            # On other channels, such as web chat, the client sets the sender's id: it proves
            # nothing.
            log.warning("teams.channel_refused", cure="Leave the bot no channel but Teams.")
            raise web.HTTPForbidden(text="Only Teams is served.")
        served = self.entra_tenant
        if served is not None and tenant_of(body).lower() != served.lower():
            log.warning("teams.tenant_refused", cure="Set MICROSOFT_APP_TENANT_ID to serve it.")
            raise web.HTTPForbidden(text="This company is not served.")
        return admitted

    async def _key_of(self, token: str, keys: SigningKeys) -> jwt.PyJWK:
        """Return the key that a token names. Raises PyJWTError if there is none."""
        key_id = jwt.get_unverified_header(token).get("kid")
        try:
            key = await keys.key(key_id) if isinstance(key_id, str) else None
        except KeysUnavailable as error:
            log.warning("teams.keys_unavailable", error=str(error))
            raise web.HTTPServiceUnavailable(text="Tokens cannot be checked now.") from error
        if key is None:
            raise jwt.InvalidKeyError("The token's key is unknown.")
        return key

    async def _authenticated(self, header: str, activity: Activity) -> AuthenticateRequestResult:
        try:
            return await self.authentication.authenticate_request(activity, header)
        except Exception as error:  # botbuilder raises whatever it stumbles over
            log.info("teams.token_refused", error=type(error).__name__)
            raise web.HTTPUnauthorized(text="The token is not valid.") from error


@dataclass(frozen=True, slots=True)
class InboundAuth:
    """botbuilder's adapter, the authenticator of its requests, and the signing keys.

    ``keys`` is None in development mode, in which nothing is signed.
    """

    adapter: CloudAdapter
    authenticator: RequestAuthenticator
    keys: SigningKeys | None

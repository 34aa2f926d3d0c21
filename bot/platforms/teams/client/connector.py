"""Call the Bot Framework's connector REST API (v3) over aiohttp, one HTTP request a call.

Nothing is retried here: whether a repetition is safe depends on the call (client.api).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote
from urllib.request import getproxies, proxy_bypass

import aiohttp
from azure.core.credentials import AccessToken
from yarl import URL

from bot.domain.errors import DeliveryFailed
from bot.platforms.teams.client.errors import NoToken, NotReached, Unavailable, failure_of
from bot.platforms.teams.client.registration import (
    CredentialFactory,
    TokenRefusal,
    token_refusal_of,
)
from bot.platforms.teams.payloads.activity import Body, Json

TIMEOUT_SECONDS = 15.0
"""Longest wait for one call, with its token."""

_CONNECT_SECONDS = 5.0
_TIMEOUT = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS, sock_connect=_CONNECT_SECONDS)
_UNAUTHORIZED = 401
_SUCCESSES = frozenset({200, 201, 202, 204})


_REFRESH_SECONDS = 300.0
"""A token is replaced when it is valid for less than this."""


class BotTokens:
    """Caches the bot's token. A ``factory`` of None is for development, which signs nothing.

    ``trouble`` is why the last token request failed, or None if it succeeded.
    """

    def __init__(self, factory: CredentialFactory | None, scope: str) -> None:
        self._factory = factory
        self._scope = f"{scope}/.default"
        self._token: AccessToken | None = None
        self._fetching = asyncio.Lock()
        self.trouble: TokenRefusal | None = None

    async def headers(self) -> dict[str, str]:
        """Return the headers that sign a call. Raises NoToken."""
        if self._factory is None:
            return {}
        async with self._fetching:
            token = self._token
            if token is None or token.expires_on - time.time() < _REFRESH_SECONDS:
                token = await self._fetched(self._factory)
        return {"Authorization": f"Bearer {token.token}"}

    async def fetch(self) -> None:
        """Fetch a token even if one is cached. Raises NoToken."""
        if self._factory is not None:
            async with self._fetching:
                await self._fetched(self._factory)

    def discard(self) -> None:
        """Forget the cached token, which Teams refused."""
        self._token = None

    async def _fetched(self, factory: CredentialFactory) -> AccessToken:
        try:
            async with factory() as credential:
                self._token = await credential.get_token(self._scope)
        except Exception as error:
            # azure-identity raises many types, also ValueError for a directory id that is none.
            self.trouble = token_refusal_of(error)
            if self._token is not None and self._token.expires_on > time.time():
                return self._token
            raise NoToken(str(self.trouble)) from error
        self.trouble = None
        return self._token


@dataclass(frozen=True, slots=True)
class ConnectorRequest:
    """One request: ``segments`` of the path below ``/v3/conversations``, still unescaped."""

    method: str
    segments: tuple[str, ...] = ()
    body: Json | None = None
    query: Mapping[str, str] | None = None

    def url(self, service_url: str) -> URL:
        """Return the address. Ids are escaped: a channel's has ``:``, ``;`` and ``@``."""
        path = "/".join(quote(each, safe="") for each in ("v3", "conversations", *self.segments))
        url = URL(f"{service_url.rstrip('/')}/{path}", encoded=True)
        return url.update_query(self.query) if self.query else url


class Connector:
    """Sends requests with the bot's token; connections are kept open until ``close``."""

    def __init__(self, tokens: BotTokens) -> None:
        self.tokens = tokens
        self._connections: aiohttp.TCPConnector | None = None

    async def call(self, service_url: str, request: ConnectorRequest) -> Body:
        """Return the JSON object of a response, {} for none.

        Raises DeliveryFailed and its subclasses (client.errors), which say whether Teams may have
        acted.
        """
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._call(service_url, request)
        except TimeoutError as error:
            raise DeliveryFailed("Teams did not answer in time.") from error
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            raise NotReached("Teams cannot be reached. Check the network.") from error
        except aiohttp.ClientError as error:
            raise Unavailable("Teams cannot be reached: the connection broke off.") from error

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        kept, self._connections = self._connections, None
        if kept is not None:
            await kept.close()

    async def _call(self, service_url: str, request: ConnectorRequest) -> Body:
        headers, url = await self.tokens.headers(), request.url(service_url)
        async with (
            aiohttp.ClientSession(
                connector=self._open_connections(),
                connector_owner=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=_TIMEOUT,
            ) as session,
            # The token goes to no other address than the one that was vouched for.
            session.request(
                request.method,
                url,
                json=request.body,
                headers=headers,
                allow_redirects=False,
                proxy=_proxy_for(url),
            ) as response,
        ):
            raw = await response.read()
            if response.status in _SUCCESSES:
                return _json_object(raw)
            if response.status == _UNAUTHORIZED:
                self.tokens.discard()
            asked = response.headers.get("Retry-After")
            raise failure_of(response.status, _json_object(raw), asked)

    def _open_connections(self) -> aiohttp.TCPConnector:
        """Return the connections; their number is bounded by the rate limits alone."""
        if self._connections is None or self._connections.closed:
            self._connections = aiohttp.TCPConnector(limit=0)
        return self._connections


def _proxy_for(url: URL) -> str | None:
    """Return the proxy that the environment names; aiohttp's own way reads .netrc in a thread."""
    host = url.host or ""
    return None if proxy_bypass(host) else getproxies().get(url.scheme)


def _json_object(raw: bytes) -> Body:
    """Return a response's JSON object; {} for any other content, as gateways send HTML."""
    try:
        read = json.loads(raw)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}

"""Call the Bot Framework's connector REST API (v3) over aiohttp, one HTTP request a call.

Nothing is retried here: whether a repetition is safe depends on the call (client.api).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

import aiohttp
from azure.core.credentials import AccessToken
from yarl import URL

from bot.domain.errors import DeliveryFailed
from bot.domain.texts import ENGLISH, Language
from bot.platforms.teams.client.errors import NoToken, NotReached, Unavailable, failure_of
from bot.platforms.teams.client.registration import (
    CredentialFactory,
    TokenRefusal,
    token_refusal_of,
)
from bot.platforms.teams.payloads.activity import Body, Json
from ingestion.proxies import Proxies

TOKEN_SECONDS = 15.0
"""Longest wait for a token, which is fetched before a call."""

TIMEOUT_SECONDS = 15.0
"""Longest wait for one call."""

CONNECT_SECONDS = 8.0
"""Longest wait for a connection, a part of the call, by way of a proxy where there is one."""

_MOST_HOSTS = 64
_UNAUTHORIZED = 401
_BROKE_OFF = "Teams cannot be reached: the connection broke off."
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
        token = await self._current(self._factory)
        return {"Authorization": f"Bearer {token.token}"}

    async def fetch(self) -> None:
        """Fetch a token even if one is cached. Raises NoToken."""
        if self._factory is not None:
            await self._current(self._factory, anew=True)

    def discard(self) -> None:
        """Forget the cached token, which Teams refused."""
        self._token = None

    async def _current(self, factory: CredentialFactory, *, anew: bool = False) -> AccessToken:
        """Return the cached token, replaced when it is nearly over or ``anew``.

        A token that could not be replaced serves as long as it is valid. Raises NoToken.
        """
        try:
            # The wait for another call that is fetching counts, or a queue would wait many times.
            async with asyncio.timeout(TOKEN_SECONDS), self._fetching:
                token = self._token
                if anew or token is None or token.expires_on - time.time() < _REFRESH_SECONDS:
                    async with factory() as credential:
                        token = await credential.get_token(self._scope)
                    self._token, self.trouble = token, None
                return token
        except Exception as error:
            # azure-identity raises many types, also ValueError for a directory id that is none.
            self.trouble = token_refusal_of(error)
            if self._token is not None and self._token.expires_on > time.time():
                return self._token
            raise NoToken(str(self.trouble)) from error


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
    """Sends requests with the bot's token; connections are kept open until ``close``.

    Texts in a body are rendered in ``language``.
    """

    def __init__(self, tokens: BotTokens, language: Language = ENGLISH) -> None:
        self.tokens = tokens
        self._language = language
        self._connections: aiohttp.TCPConnector | None = None
        # Asked once a host: the environment does not change, and calls are many.
        self._proxy_towards = lru_cache(maxsize=_MOST_HOSTS)(Proxies().towards)

    async def call(self, service_url: str, request: ConnectorRequest) -> Body:
        """Return the JSON object of a response, {} for none.

        Raises DeliveryFailed and its subclasses (client.errors), which say whether Teams may have
        acted.
        """
        headers = await self.tokens.headers()
        try:
            return await self._call(request, request.url(service_url), headers)
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            raise NotReached("Teams cannot be reached. Check the network.") from error
        except aiohttp.ConnectionTimeoutError as error:
            raise NotReached("Teams cannot be reached in time. Check the network.") from error
        except aiohttp.ClientHttpProxyError as error:
            raise NotReached(
                f"The proxy answered {error.status}, and Teams was not reached. Check HTTPS_PROXY."
            ) from error
        except TimeoutError as error:
            raise DeliveryFailed("Teams did not answer in time.") from error
        except aiohttp.ClientError as error:
            raise Unavailable(_BROKE_OFF) from error

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        kept, self._connections = self._connections, None
        if kept is not None:
            await kept.close()

    async def _call(self, request: ConnectorRequest, url: URL, headers: Mapping[str, str]) -> Body:
        proxy = self._proxy_towards(url.origin()) if url.absolute else None
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS, connect=CONNECT_SECONDS)
        async with (
            aiohttp.ClientSession(
                connector=self._open_connections(),
                connector_owner=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=timeout,
                middlewares=(_send_once,),
            ) as session,
            # The token goes to no other address than the one that was vouched for.
            session.request(
                request.method,
                url,
                json=self._language.render_all(request.body),
                headers=headers,
                allow_redirects=False,
                proxy=proxy.url if proxy else None,
                proxy_headers=proxy.headers if proxy else None,
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


async def _send_once(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from repeating a PUT or DELETE by itself, which would hide a lost response."""
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise Unavailable(_BROKE_OFF) from error


def _json_object(raw: bytes) -> Body:
    """Return a response's JSON object; {} for any other content, as gateways send HTML."""
    try:
        read = json.loads(raw)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}

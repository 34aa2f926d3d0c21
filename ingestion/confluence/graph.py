"""Query Microsoft Graph for a person's groups, direct and nested.

The token is of this process's identity: managed or workload identity, environment or command line.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote

import aiohttp
from azure.core.exceptions import AzureError
from azure.identity.aio import DefaultAzureCredential
from pydantic import BaseModel, Field, ValidationError
from yarl import URL

from ingestion.errors import DirectoryUnavailable
from ingestion.proxies import Proxies
from rag.retrying import Deadline, RetryPolicy, TryAgain, requested_wait_seconds, with_retries

ORIGIN = "https://graph.microsoft.com"
SCOPE = f"{ORIGIN}/.default"
_SECONDS = 30.0
_MOST_PAGES = 50
_MOST_BYTES = 16 * 1024 * 1024
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_RIGHTS = (
    "Give Frontdesk's identity the application permissions User.Read.All and "
    "GroupMember.Read.All of Microsoft Graph (docs/confluence.md)."
)

Shape = TypeVar("Shape", bound="_Part")
Token = Callable[[], Awaitable[str]]
"""Returns a token for SCOPE. Raises DirectoryUnavailable."""


class _Part(BaseModel):
    following: str | None = Field(None, alias="@odata.nextLink")


class _Group(BaseModel):
    id: str
    name: str | None = Field(None, alias="displayName")


class _Groups(_Part):
    value: list[_Group]


class _User(BaseModel):
    id: str


class _Users(_Part):
    value: list[_User]


class _Unknown(Exception):
    """404: there is no such user."""


class Graph:
    """Queries groups of people from Microsoft Graph.

    Args:
        token: returns the access token, which is sent to ``origin`` only.
        origin: the service's address; another one for tests and national clouds.
        policy: the retry policy.
    """

    def __init__(
        self, token: Token, *, origin: str = ORIGIN, policy: RetryPolicy | None = None
    ) -> None:
        self._token = token
        self._origin = URL(origin)
        self._policy = policy or RetryPolicy()
        self._proxies = Proxies()
        self._session: aiohttp.ClientSession | None = None

    async def groups_of(self, email: str) -> Sequence[str] | None:
        """Return the names of all groups that a person is in; None for an unknown person.

        The address is matched with the user principal name, else with the mail address of exactly
        one person.
        """
        deadline = Deadline(_SECONDS)
        try:
            return await self._groups(email, deadline)
        except _Unknown:
            pass
        person = await self._by_mail(email, deadline)
        try:
            return None if person is None else await self._groups(person, deadline)
        except _Unknown:
            return None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _groups(self, person: str, deadline: Deadline) -> Sequence[str]:
        path = f"/v1.0/users/{quote(person, safe='')}/transitiveMemberOf/microsoft.graph.group"
        # Graph supports this cast only with eventual consistency: $count and the ConsistencyLevel
        # header.
        query = "$select=id,displayName&$top=999&$count=true"
        url: URL | None = self._at(path, query)
        found: list[_Group] = []
        for _ in range(_MOST_PAGES):
            if url is None:
                return _names(found)
            part = await self._get(url, _Groups, deadline)
            found += part.value
            url = self._next(part)
        raise DirectoryUnavailable("Microsoft Graph lists more groups of one person than is read.")

    async def _by_mail(self, email: str, deadline: Deadline) -> str | None:
        literal = quote("'" + email.replace("'", "''") + "'", safe="")
        url = self._at("/v1.0/users", f"$filter=mail%20eq%20{literal}&$select=id&$top=2")
        try:
            found = (await self._get(url, _Users, deadline)).value
        except _Unknown:
            return None
        return found[0].id if len(found) == 1 else None

    def _at(self, path: str, query: str) -> URL:
        return URL(f"{self._origin.origin()}{path}?{query}", encoded=True)

    def _next(self, part: _Part) -> URL | None:
        if part.following is None:
            return None
        try:
            url = URL(part.following, encoded=True)
            ours = url.origin() == self._origin.origin()
        except ValueError:
            ours = False
        if not ours:
            raise DirectoryUnavailable("Microsoft Graph sent on to another address; not followed.")
        return url

    async def _get(self, url: URL, shape: type[Shape], deadline: Deadline) -> Shape:
        async def ask() -> Shape:
            return await self._ask(url, shape, deadline)

        try:
            return await with_retries(ask, self._policy, deadline)
        except TryAgain as error:
            raise DirectoryUnavailable(str(error)) from None

    async def _ask(self, url: URL, shape: type[Shape], deadline: Deadline) -> Shape:
        headers = {
            "Authorization": f"Bearer {await self._token()}",
            "ConsistencyLevel": "eventual",
            "Accept": "application/json",
        }
        proxy = self._proxies.towards(url)
        options: dict[str, Any] = {
            "timeout": aiohttp.ClientTimeout(total=max(0.1, deadline.remaining_seconds)),
            "proxy": proxy.url if proxy else None,
            "proxy_headers": proxy.headers if proxy else None,
        }
        try:
            async with self._open().get(
                url, headers=headers, allow_redirects=False, **options
            ) as response:
                _check(response)
                return _read(await _body(response), shape)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # The error's own text may hold a person's address.
            raise TryAgain(f"No answer from Microsoft Graph ({type(error).__name__}).") from None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
            )
        return self._session


def _check(response: aiohttp.ClientResponse) -> None:
    status = response.status
    if status == HTTPStatus.OK:
        return
    if status == HTTPStatus.NOT_FOUND:
        raise _Unknown
    if status in _PASSING:
        wait = requested_wait_seconds(response.headers)
        raise TryAgain(f"Microsoft Graph answered {status} each time it was asked.", wait)
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        raise DirectoryUnavailable(f"Microsoft Graph refuses ({status}). {_RIGHTS}")
    raise DirectoryUnavailable(f"Microsoft Graph answered {status}, which is not understood.")


async def _body(response: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for part in response.content.iter_chunked(64 * 1024):
        raw += part
        if len(raw) > _MOST_BYTES:
            raise DirectoryUnavailable("Microsoft Graph answered with more than is read.")
    return bytes(raw)


def _read(raw: bytes, shape: type[Shape]) -> Shape:
    try:
        return shape.model_validate_json(raw)
    except ValidationError:
        # Not chained: the cause quotes the response.
        raise DirectoryUnavailable("Microsoft Graph answered in an unknown shape.") from None


def _names(groups: Sequence[_Group]) -> Sequence[str]:
    names = [group.name for group in groups if group.name]
    if groups and not names:
        raise DirectoryUnavailable(f"Microsoft Graph hides the names of groups. {_RIGHTS}")
    return names


class GraphToken:
    """Returns tokens of the default Azure credential, which is created on first use."""

    def __init__(self) -> None:
        self._credential: DefaultAzureCredential | None = None

    async def __call__(self) -> str:
        """Return a token. Raises DirectoryUnavailable."""
        if self._credential is None:
            self._credential = DefaultAzureCredential()
        try:
            return (await self._credential.get_token(SCOPE)).token
        except AzureError as error:
            # The cause lists everything that was tried, with paths and ids.
            raise DirectoryUnavailable(
                f"There is no token for Microsoft Graph ({type(error).__name__}). Give this "
                "process a managed identity, or sign in by `az login`."
            ) from None

    async def close(self) -> None:
        if self._credential is not None:
            await self._credential.close()

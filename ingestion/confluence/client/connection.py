"""Connect to one Confluence site: edition, base address, proxy and session.

The token is sent to that site only. Any address of the site that a user pastes is accepted.
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import aiohttp
from yarl import URL

from ingestion.confluence.client.retry import TryAgain, redirect_error
from ingestion.errors import SettingInvalid, WikiUnavailable
from ingestion.proxies import Proxies

Edition = Literal["cloud", "data-center"]

_CLOUD = ".atlassian.net"
_GATEWAY = "api.atlassian.com"
_GATEWAY_PATH = re.compile(r"/ex/confluence/[^/]+")
_PAGES = re.compile(
    r"/(?:api/v2|rest/api|rest|display|pages|spaces|x|download|plugins|label|admin)(?:/.*)?$"
    r"|/[a-z]+\.action$"
)


@dataclass(frozen=True, slots=True)
class Address:
    """A site. ``base`` has no trailing slash, ends in ``/wiki`` on Cloud; requests go below it."""

    edition: Edition
    base: URL

    @property
    def origin(self) -> URL:
        return self.base.origin()

    def below(self, path: str) -> URL:
        """Return an address below the base; ``path`` begins with a slash and is encoded."""
        return URL(f"{self.base}{path}", encoded=True)


def address_of(url: str, edition: Literal["auto", "cloud", "data-center"] = "auto") -> Address:
    """Return the site that a setting names; the address of any of its pages will do.

    Raises SettingInvalid.
    """
    given = _checked_url(url)
    kind = ("cloud" if _is_atlassians(given) else "data-center") if edition == "auto" else edition
    path = _cloud_path(given) if kind == "cloud" else _context(given.path)
    if _is_atlassians(given):
        given = given.with_scheme("https")
    return Address(edition=kind, base=URL(f"{given.origin()}{path}"))


def _checked_url(url: str) -> URL:
    try:
        given = URL(url.strip())
    except ValueError:
        given = URL()
    if given.scheme not in {"http", "https"} or not given.host:
        raise SettingInvalid(
            f"CONFLUENCE_URL={url!r} is no web address. Write https://SITE.atlassian.net/wiki, or "
            "your Data Center's address."
        )
    if given.user or given.password:
        raise SettingInvalid(
            "CONFLUENCE_URL holds a name or password. Take it out; write CONFLUENCE_EMAIL and "
            "CONFLUENCE_TOKEN instead."
        )
    return given


def _is_atlassians(url: URL) -> bool:
    host = (url.host or "").lower()
    return host.endswith(_CLOUD) or host == _GATEWAY


def _cloud_path(url: URL) -> str:
    if found := _GATEWAY_PATH.match(url.path):
        return f"{found[0]}/wiki"
    if (url.host or "").lower() == _GATEWAY:
        raise SettingInvalid(
            f"CONFLUENCE_URL={str(url)!r} names no site. Write "
            "https://api.atlassian.com/ex/confluence/CLOUD-ID."
        )
    before, wiki, _ = f"{url.path}/".partition("/wiki/")
    return f"{before}/wiki" if wiki else "/wiki"


def _context(path: str) -> str:
    return _PAGES.sub("", path.rstrip("/")).rstrip("/")


MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=15.0, sock_connect=15.0, sock_read=30.0)


def authorization_header(token: str, email: str | None) -> str:
    """Return the Authorization header of a token: Basic with an e-mail address, else Bearer."""
    if email is None:
        return f"Bearer {token}"
    return "Basic " + base64.b64encode(f"{email}:{token}".encode()).decode("ascii")


def ssl_context(ca_file: str | None) -> ssl.SSLContext:
    """Return the trust store: the system's, plus ``ca_file``. Raises SettingInvalid."""
    context = ssl.create_default_context()
    if ca_file is None:
        return context
    try:
        context.load_verify_locations(cafile=Path(ca_file))
    except (OSError, ssl.SSLError) as error:
        raise SettingInvalid(
            f"CONFLUENCE_CA_FILE={ca_file!r} can't be read as certificates "
            f"({type(error).__name__}). It must be a PEM file."
        ) from error
    return context


class Connection:
    """Sends requests to a site, and follows redirects itself."""

    def __init__(
        self, address: Address, *, authorization: str, trust: ssl.SSLContext, proxies: Proxies
    ) -> None:
        self._address = address
        self._authorization = authorization
        self._trust = trust
        self._proxies = proxies
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def get(
        self, url: URL, *, asked: str, accept: str, abroad: bool = False
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a GET request and yield the response.

        ``abroad``: whether a redirect to another site is followed, as for files; that site never
        receives the token. Raises TryAgain when there is no response, WikiUnavailable and
        WikiRefused.
        """
        try:
            response = await self._followed(url, asked=asked, accept=accept, abroad=abroad)
            async with response:
                yield response
        except aiohttp.ClientConnectorCertificateError as error:
            raise WikiUnavailable(_certificate_error(asked, self._address.base)) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise TryAgain(_connection_error(asked, self._address.base, error)) from error

    @asynccontextmanager
    async def write(
        self, method: str, url: URL, body: object, *, asked: str
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send JSON once and yield the response; no redirect is followed.

        Raises TryAgain when there is no response, so that it is unknown what was done,
        WikiUnavailable and WikiRefused.
        """
        try:
            response = await self._send(url, "application/json", method=method, body=body)
            async with response:
                if response.status in _REDIRECTS:
                    raise redirect_error(asked, url.host or "")
                yield response
        except aiohttp.ClientConnectorCertificateError as error:
            raise WikiUnavailable(_certificate_error(asked, self._address.base)) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise TryAgain(_connection_error(asked, self._address.base, error)) from error

    async def _followed(
        self, url: URL, *, asked: str, accept: str, abroad: bool
    ) -> aiohttp.ClientResponse:
        for _ in range(MOST_REDIRECTS + 1):
            response = await self._send(url, accept)
            if response.status not in _REDIRECTS or "Location" not in response.headers:
                return response
            location = response.headers["Location"]
            response.release()
            url = self._next(url, location, asked=asked, abroad=abroad)
        raise WikiUnavailable(f"{asked} was sent on more than {MOST_REDIRECTS} times.")

    def _next(self, url: URL, location: str, *, asked: str, abroad: bool) -> URL:
        try:
            following = url.join(URL(location, encoded=True))
        except ValueError:
            following = URL()
        if following.scheme not in {"http", "https"} or not following.host:
            raise WikiUnavailable(f"{asked} was sent on to what is no web address.")
        if not abroad and following.origin() != self._address.origin:
            raise redirect_error(asked, following.host)
        if url.scheme == "https" and following.scheme == "http":
            raise WikiUnavailable(f"{asked} was sent on to http, which anybody can read.")
        return following.with_user(None)

    async def _send(
        self, url: URL, accept: str, *, method: str = "GET", body: object = None
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": accept, "User-Agent": "Frontdesk"}
        if url.origin() == self._address.origin:
            headers["Authorization"] = self._authorization
        proxy = self._proxies.towards(url)
        return await self._open().request(
            method,
            url,
            json=body,
            headers=headers,
            allow_redirects=False,
            proxy=proxy.url if proxy else None,
            proxy_headers=proxy.headers if proxy else None,
        )

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self._trust),
                # Cookies are ignored: a session at the site would outlive the token's rights.
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=_TIMEOUT,
                trust_env=False,
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def _certificate_error(asked: str, base: URL) -> str:
    return (
        f"No trusted connection to {base.host} for {asked}: its certificate is not known here. "
        "Name your company's certificates in CONFLUENCE_CA_FILE."
    )


def _connection_error(asked: str, base: URL, error: Exception) -> str:
    # The error's own text may contain more of an address than its host.
    late = isinstance(error, TimeoutError)
    what = "it took too long" if late else "the connection failed or broke"
    return (
        f"No answer from {base.host} to {asked}: {what}. Check CONFLUENCE_URL, the network and "
        "HTTPS_PROXY."
    )

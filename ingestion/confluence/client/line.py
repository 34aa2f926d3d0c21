"""The line to one site: a session whose token goes to that site and nowhere else."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from yarl import URL

from ingestion.confluence.client.address import Address
from ingestion.confluence.client.answers import elsewhere
from ingestion.confluence.client.patience import TryAgain
from ingestion.confluence.client.proxies import Proxies
from ingestion.confluence.errors import WikiUnavailable
from ingestion.errors import SettingInvalid

MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TIMES = aiohttp.ClientTimeout(total=None, connect=15.0, sock_connect=15.0, sock_read=30.0)


def authorization(token: str, email: str | None) -> str:
    """Return the header that a token makes: Basic with an e-mail address, else Bearer."""
    if email is None:
        return f"Bearer {token}"
    return "Basic " + base64.b64encode(f"{email}:{token}".encode()).decode("ascii")


def trusted(ca_file: str | None) -> ssl.SSLContext:
    """Return whom to trust: what the system trusts, and ``ca_file``. Raises SettingInvalid."""
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


class Line:
    """Sends requests to a site, and follows where it sends on, by hand."""

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
        """Give the answer to a GET.

        ``abroad``: whether another site's answer is one, as with files; it never gets the token.
        Raises TryAgain when there is no answer, WikiUnavailable and WikiRefused.
        """
        try:
            response = await self._followed(url, asked=asked, accept=accept, abroad=abroad)
            async with response:
                yield response
        except aiohttp.ClientConnectorCertificateError as error:
            raise WikiUnavailable(_untrusted(asked, self._address.base)) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise TryAgain(_no_answer(asked, self._address.base, error)) from error

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
            raise elsewhere(asked, following.host)
        if url.scheme == "https" and following.scheme == "http":
            raise WikiUnavailable(f"{asked} was sent on to http, which anybody can read.")
        return following.with_user(None)

    async def _send(self, url: URL, accept: str) -> aiohttp.ClientResponse:
        headers = {"Accept": accept, "User-Agent": "Frontdesk"}
        if url.origin() == self._address.origin:
            headers["Authorization"] = self._authorization
        proxy = self._proxies.towards(url)
        return await self._open().get(
            url,
            headers=headers,
            allow_redirects=False,
            proxy=proxy.url if proxy else None,
            proxy_headers=proxy.headers if proxy else None,
        )

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self._trust),
                # A session begun at the site would outlive the token's rights.
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=_TIMES,
                trust_env=False,
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def _untrusted(asked: str, base: URL) -> str:
    return (
        f"No trusted connection to {base.host} for {asked}: its certificate is not known here. "
        "Name your company's certificates in CONFLUENCE_CA_FILE."
    )


def _no_answer(asked: str, base: URL, error: Exception) -> str:
    # The error's own text may hold addresses with more than a host.
    late = isinstance(error, TimeoutError)
    what = "it took too long" if late else "the connection failed or broke"
    return (
        f"No answer from {base.host} to {asked}: {what}. Check CONFLUENCE_URL, the network and "
        "HTTPS_PROXY."
    )

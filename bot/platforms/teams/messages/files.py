"""Download files sent in personal chats: only from Microsoft's hosts, up to a size limit."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote_to_bytes

import aiohttp
from yarl import URL

from bot.answering.attachments import download_errors, downloaded_bytes
from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Attachment
from bot.platforms.teams.payloads.messages import INLINE_PREFIX

_HOSTS = (".sharepoint.com", ".sharepoint.us", ".sharepoint-mil.us", ".sharepoint.cn")
"""OneDrive for Business, where Teams stores files of chats: worldwide and national clouds."""

_HTTPS = 443
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_ADDRESSES = 4
_TIMEOUT = aiohttp.ClientTimeout(total=20.0, connect=5.0)
_UNCOMPRESSED = {"Accept-Encoding": "identity"}
_CURE = "The address of a file holds for some minutes; let the asker send it again."


class Files:
    """Downloads attachments. Implements bot.domain.capabilities.Fetches.

    A download URL of Teams needs no token, so it is itself a secret. Redirects are followed only
    among Microsoft's file hosts.
    """

    def __init__(
        self, connector: Callable[[], aiohttp.BaseConnector] = aiohttp.TCPConnector
    ) -> None:
        self._connector = connector

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        """Return a file, or the text of a quote.

        Raises DeliveryFailed, also for one above ``most`` bytes.
        """
        if attachment.place.startswith(INLINE_PREFIX):
            return _inline_content(attachment, most)
        with download_errors(attachment):
            async with aiohttp.ClientSession(
                connector=self._connector(), cookie_jar=aiohttp.DummyCookieJar(), timeout=_TIMEOUT
            ) as session:
                return await _fetch_file(session, attachment, most)


async def _fetch_file(session: aiohttp.ClientSession, attachment: Attachment, most: int) -> bytes:
    url = _checked_address(attachment, attachment.place)
    for _ in range(_MOST_ADDRESSES):
        async with session.get(url, headers=_UNCOMPRESSED, allow_redirects=False) as response:
            if response.status not in _REDIRECTS:
                return await downloaded_bytes(
                    attachment, response, most=most, host="SharePoint", cure=_CURE
                )
            url = _checked_address(attachment, response.headers.get("Location", ""), url)
    raise DeliveryFailed(f"File {attachment.name!r}: SharePoint leads from place to place.")


def _checked_address(attachment: Attachment, place: str, seen_from: URL | None = None) -> URL:
    """Return the URL in the form in which it will be requested, if its host is allowed.

    The check applies to the parsed form, as another parser may read the original differently.
    """
    if not place:
        raise DeliveryFailed(f"File {attachment.name!r}: Teams does not hand it out.")
    try:
        told = URL(place, encoded=True)
        url = seen_from.join(told) if seen_from else told
        origin = url.scheme, url.port, url.raw_host or ""
    except ValueError as error:
        raise DeliveryFailed(f"File {attachment.name!r} has no address.") from error
    scheme, port, host = origin
    ours = scheme == "https" and port == _HTTPS and host.lower().endswith(_HOSTS)
    if not ours or url.raw_user is not None or url.raw_password is not None:
        raise DeliveryFailed(
            f"File {attachment.name!r} is not where Microsoft keeps files; it is not fetched."
        )
    return url


def _inline_content(attachment: Attachment, most: int) -> bytes:
    content = unquote_to_bytes(attachment.place.removeprefix(INLINE_PREFIX))
    if len(content) > most:
        raise DeliveryFailed(f"File {attachment.name!r} is larger than {most} bytes.")
    return content

"""Files that people share on Slack: fetched from Slack alone, up to a size."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import DeliveryFailed
from bot.types import Attachment

_SLACK = "slack.com"
_HOST = "files.slack.com"
_CHUNK = 65_536
_OK = 200
_TIMEOUT = aiohttp.ClientTimeout(total=20.0, connect=5.0)


class Files:
    """Implements bot.capabilities.Fetches.

    The token goes to Slack's host of files, or to the API's own where that is another (a proxy, a
    test), and never along with a redirect.
    """

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        api = urlsplit(client.base_url)
        self._origins: set[tuple[str, str, int | None]] = {("https", _HOST, None)}
        if api.hostname != _SLACK:
            self._origins.add((api.scheme, api.hostname or "", api.port))

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        """Return a file. Raises DeliveryFailed, also for one above ``most`` bytes."""
        self._check(attachment)
        try:
            async with self._asked(attachment) as response:
                _check_answer(attachment, response)
                return await _read(attachment, response, most)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise DeliveryFailed(
                f"File {attachment.name!r} could not be fetched ({type(error).__name__})."
            ) from error

    def _check(self, attachment: Attachment) -> None:
        if not attachment.place:
            raise DeliveryFailed(f"File {attachment.name!r}: Slack does not hand it out.")
        try:
            url = urlsplit(attachment.place)
            origin = url.scheme, url.hostname or "", url.port
        except ValueError as error:
            raise DeliveryFailed(f"File {attachment.name!r} has no address.") from error
        if origin not in self._origins or url.username is not None:
            raise DeliveryFailed(f"File {attachment.name!r} is not Slack's own; it is not fetched.")

    @asynccontextmanager
    async def _asked(self, attachment: Attachment) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {"Authorization": f"Bearer {self._client.token}"}
        async with (
            self._session() as session,
            session.get(
                attachment.place, headers=headers, allow_redirects=False, timeout=_TIMEOUT
            ) as response,
        ):
            yield response

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        if self._client.session is not None:
            yield self._client.session
            return
        async with aiohttp.ClientSession() as session:
            yield session


def _check_answer(attachment: Attachment, response: aiohttp.ClientResponse) -> None:
    """Refuse a redirect, an error, and the page that asks to sign in.

    Slack shows that page, with 200, to a token that lacks the scope files:read. A file that is a
    page itself comes as an attachment.
    """
    if response.status != _OK:
        raise DeliveryFailed(f"File {attachment.name!r}: Slack answered {response.status}.")
    disposition = response.headers.get("Content-Disposition", "")
    if response.content_type == "text/html" and not disposition.startswith("attachment"):
        raise DeliveryFailed(
            f"File {attachment.name!r}: Slack wants a sign-in. Add the scope files:read and "
            "reinstall the app."
        )


async def _read(attachment: Attachment, response: aiohttp.ClientResponse, most: int) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        content += chunk
        if len(content) > most:
            raise DeliveryFailed(f"File {attachment.name!r} is larger than {most} bytes.")
    return bytes(content)

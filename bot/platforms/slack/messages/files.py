"""Download files from Slack's hosts alone, and up to a size."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bot.answering.attachments import download_errors, downloaded_bytes
from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Attachment

_API_HOST = "slack.com"
_FILES_HOST = "files.slack.com"
_CURE = "Add the scope files:read and reinstall the app."
_TIMEOUT = aiohttp.ClientTimeout(total=20.0, connect=5.0)


class Files:
    """Downloads files shared on Slack. Implements bot.domain.ports.Fetches.

    The token is sent to Slack's file host, or to the API's own where that is another (a proxy, a
    test), and never along with a redirect.
    """

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        api = urlsplit(client.base_url)
        self._origins: set[tuple[str, str, int | None]] = {("https", _FILES_HOST, None)}
        if api.hostname != _API_HOST:
            self._origins.add((api.scheme, api.hostname or "", api.port))

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        """Return a file's content. Raises DeliveryFailed, also for one above ``most`` bytes."""
        self._check(attachment)
        with download_errors(attachment):
            async with self._download(attachment) as response:
                return await downloaded_bytes(
                    attachment, response, most=most, host="Slack", cure=_CURE
                )

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
    async def _download(self, attachment: Attachment) -> AsyncIterator[aiohttp.ClientResponse]:
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

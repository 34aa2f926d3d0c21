"""Takes a file from the host of a platform: all of it, up to a size, or an error that says why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp

from bot.domain.errors import DeliveryFailed
from bot.domain.types import Attachment

_CHUNK = 65_536
_OK = 200


@contextmanager
def fetching(attachment: Attachment) -> Iterator[None]:
    """Raise DeliveryFailed in place of what can go wrong on the way; no address is told."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise DeliveryFailed(
            f"File {attachment.name!r} could not be fetched ({type(error).__name__})."
        ) from error


async def taken(
    attachment: Attachment, response: aiohttp.ClientResponse, *, most: int, host: str, cure: str
) -> bytes:
    """Return what a host answered. Raises DeliveryFailed.

    An error is no file, nor is a redirect, nor the page that asks to sign in, which comes with 200;
    ``cure`` says what to do then. A file that is a page itself comes as an attachment.
    """
    if response.status != _OK:
        raise DeliveryFailed(f"File {attachment.name!r}: {host} answered {response.status}.")
    disposition = response.headers.get("Content-Disposition", "")
    if response.content_type == "text/html" and not disposition.startswith("attachment"):
        raise DeliveryFailed(f"File {attachment.name!r}: {host} wants a sign-in. {cure}")
    content = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        content += chunk
        if len(content) > most:
            raise DeliveryFailed(f"File {attachment.name!r} is larger than {most} bytes.")
    return bytes(content)

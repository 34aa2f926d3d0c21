"""Fetches an attachment into a file: not more than is wanted, and nothing but the attachment."""

from __future__ import annotations

from pathlib import Path

from ingestion.confluence.client.transport import Transport
from ingestion.confluence.types import WikiAttachment
from ingestion.errors import PageUnreadable

_MB = 1_000_000


async def download(
    transport: Transport, attachment: WikiAttachment, *, path: str, into: Path, most: int
) -> int:
    """Write the file and return its bytes; on an error there is none.

    Raises PageUnreadable where it is not as told, WikiUnavailable.
    """
    if attachment.bytes > most:
        raise _too_big(attachment, most)
    try:
        fetched = await transport.fetch(path, into, most)
        return _as_told(attachment, fetched, most)
    except BaseException:
        _remove(into)
        raise


def _as_told(attachment: WikiAttachment, fetched: int | None, most: int) -> int:
    if fetched is None:
        raise _too_big(attachment, most)
    if attachment.bytes and fetched != attachment.bytes:
        # A login page, say, or a newer version: the next run sees which.
        raise PageUnreadable(
            f"{attachment.name!r} came with {fetched} bytes where Confluence says "
            f"{attachment.bytes}. It is tried again."
        )
    return fetched


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _too_big(attachment: WikiAttachment, most: int) -> PageUnreadable:
    return PageUnreadable(
        f"{attachment.name!r} has more than {most / _MB:.0f} MB. Raise CONFLUENCE_ATTACHMENT_MB "
        "to read it."
    )

"""Files that come with questions, joined from the platforms and from ingestion's PDF reader."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bot.attachments.reading import Attachments
from bot.attachments.text import NotText
from bot.domain.capabilities import Fetches
from bot.domain.ports import Channel
from ingestion.documents.pdf_in_subprocess import text_of_pdf
from ingestion.errors import PageUnreadable

_AT_ONCE = 2


class PdfAside:
    """Implements bot.attachments.reading.ReadsPdf by processes of their own, a few at once."""

    def __init__(self, at_once: int = _AT_ONCE) -> None:
        self._room = asyncio.Semaphore(at_once)

    async def text(self, content: bytes) -> str:
        async with self._room:
            try:
                return await text_of_pdf(content)
            except PageUnreadable as error:
                raise NotText(str(error)) from error


def attachments_of(channels: Sequence[Channel]) -> Attachments:
    """Join them; nothing is started."""
    fetching = {each.platform: each for each in channels if isinstance(each, Fetches)}
    return Attachments(fetching, PdfAside())

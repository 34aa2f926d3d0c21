"""Fetches the files that come with a message and reads them; says what it did not read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

from bot.attachments.kinds import kind_of
from bot.attachments.remarks import Unread, Why, remarks_of
from bot.attachments.text import NotText, decoded, shortened
from bot.domain.capabilities import Fetches
from bot.domain.errors import DeliveryFailed
from bot.domain.types import Attached, Attachment, Message, Platform

MOST_FILES = 3
MOST_BYTES = 2_000_000
MOST_CHARACTERS = 20_000
"""Of all files of a message together."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Read:
    """What was read of a message's files, and what its asker must be told of the others."""

    attached: tuple[Attached, ...] = ()
    remarks: tuple[str, ...] = ()


class ReadsAttachments(Protocol):
    """Reads what comes with a message; a file that can't be read is told, never an error."""

    async def read(self, message: Message) -> Read: ...


class ReadsPdf(Protocol):
    """Takes the text out of a PDF."""

    async def text(self, content: bytes) -> str:
        """Return its text. Raises NotText when it has none, is locked, broken or takes too long."""
        ...


class Attachments:
    """Implements ReadsAttachments over the platforms that hand files out."""

    def __init__(self, platforms: Mapping[Platform, Fetches], pdf: ReadsPdf) -> None:
        self._platforms = platforms
        self._pdf = pdf

    async def read(self, message: Message) -> Read:
        """Read the first files of a message that are text or PDF, one after the other."""
        attached: list[Attached] = []
        unread: list[Unread] = []
        left = MOST_CHARACTERS
        for attachment in message.attachments:
            text = await self._text(message, attachment, full=len(attached) == MOST_FILES)
            if isinstance(text, Unread):
                unread.append(text)
                continue
            kept = await asyncio.to_thread(shortened, text, left)
            if len(kept) < len(text):
                unread.append(Unread(attachment.name, "too_long" if kept else "too_many"))
            if kept:
                attached.append(Attached(attachment.name, kept))
                left -= len(kept)
        return Read(tuple(attached), remarks_of(unread))

    async def _text(self, message: Message, attachment: Attachment, *, full: bool) -> str | Unread:
        kind, platform = kind_of(attachment), self._platforms.get(message.thread.platform)
        why: Why | None = None
        if kind == "other":
            why = "other_kind"
        elif full:
            why = "too_many"
        elif attachment.size > MOST_BYTES:
            why = "too_large"
        elif platform is None:
            why = "not_handed_out"
        if why is not None or platform is None:
            return Unread(attachment.name, why or "not_handed_out")
        return await self._fetched(platform, message, attachment, pdf=kind == "pdf")

    async def _fetched(
        self, platform: Fetches, message: Message, attachment: Attachment, *, pdf: bool
    ) -> str | Unread:
        try:
            content = await platform.fetch(attachment, most=MOST_BYTES)
            text = await self._pdf.text(content) if pdf else decoded(content)
        except DeliveryFailed as error:
            _log.warning(
                "attachment_not_fetched", interaction_id=message.interaction_id, why=str(error)
            )
            return Unread(attachment.name, "not_handed_out")
        except NotText:
            return Unread(attachment.name, "pdf_without_text" if pdf else "not_text")
        return text if text.strip() else Unread(attachment.name, "empty")

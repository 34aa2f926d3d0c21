"""A platform that hands out files, and a PDF reader, as small stand-ins."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from bot.answering.attachments import NotText
from bot.domain.errors import DeliveryFailed
from bot.domain.messages import Attachment, Message
from tests.builders import message


@dataclass
class Drive:
    """Hands out what it has, within the limit; remembers what was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    async def fetch(self, attachment: Attachment, *, most: int) -> bytes:
        self.fetched.append(attachment.name)
        content = self.files.get(attachment.place)
        if content is None or len(content) > most:
            raise DeliveryFailed("The file is not there, or it is larger than that.")
        return content

    def add(self, name: str, content: bytes, media_type: str = "text/plain") -> Attachment:
        self.files[name] = content
        return Attachment(name, media_type, len(content), place=name)


class PdfOfText:
    """Takes a "PDF" for the text behind its first line."""

    async def text(self, content: bytes) -> str:
        head, _, text = content.partition(b"\n")
        if head != b"%PDF-" or not text:
            raise NotText
        return text.decode()


def with_files(*attachments: Attachment, text: str = "What is this?") -> Message:
    """Return a message that files came with."""
    return replace(message(text, platform="slack", channel="C1"), attachments=attachments)

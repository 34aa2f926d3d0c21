"""Fetches an attachment and reads it; each way to fail says what to do."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ingestion.confluence.attachments import CODE, TABLES, ending
from ingestion.confluence.ports import Wiki
from ingestion.confluence.separated import rows_of
from ingestion.confluence.types import WikiAttachment
from ingestion.convert import convert
from ingestion.document_aside import MOST_TEXT, TOO_MUCH_TEXT, document_aside
from ingestion.errors import DocumentRefused, PageUnreadable
from ingestion.sniffing import kind_of
from ingestion.text import clean, decode
from ingestion.types import Block, Code, Document, Table

_ASIDE = frozenset({".pdf", ".docx"})
_PLAIN = ".txt"
_SMALL = 512 * 1024
"""Bytes of text that are read here: more of it may take minutes, and gigabytes of memory."""
_MOST_COLUMNS = 200
_MOST_MADE_UP = 4
_FEW = 10_000


class Files:
    """Reads attachments: PDF, Word and long texts in a process of their own, the rest here.

    Args:
        wiki: whence they are fetched.
        most: bytes; a larger file is not read.
    """

    def __init__(self, wiki: Wiki, most: int) -> None:
        self._wiki = wiki
        self._most = most
        # Pages are read several at once, but each of these processes may take much memory.
        self._aside = asyncio.Semaphore(1)

    async def read(self, attachment: WikiAttachment, labels: Sequence[str]) -> Document:
        """Return an attachment's document; ``labels`` are those of its page.

        What the file says of its own title, labels or address is not believed.
        Raises PageUnreadable, WikiUnavailable.
        """
        with tempfile.TemporaryDirectory(prefix="frontdesk-") as folder:
            path = Path(folder) / "attachment"
            await self._wiki.download(attachment, path, self._most)
            document = await self._document(path, attachment)
        return replace(
            document,
            title=clean(attachment.name).strip() or attachment.id,
            labels=tuple(labels),
            updated_at=attachment.updated_at,
        )

    async def _document(self, path: Path, attachment: WikiAttachment) -> Document:
        try:
            kind, size = await asyncio.to_thread(_kind_and_size, path, attachment.name)
        except DocumentRefused as error:
            raise PageUnreadable(str(error).removesuffix(".")) from error
        except OSError as error:
            raise PageUnreadable(f"cannot be kept to be read: {error.strerror}") from error
        named = ending(attachment)
        as_it_is = kind == _PLAIN and (named in TABLES or named in CODE)
        if kind in _ASIDE or (size > _SMALL and not as_it_is):
            async with self._aside:
                return await document_aside(path, kind)
        if size > MOST_TEXT:
            raise PageUnreadable(TOO_MUCH_TEXT)
        return await asyncio.to_thread(_text, path, kind, named)


def _kind_and_size(path: Path, name: str) -> tuple[str, int]:
    return kind_of(path, name), path.stat().st_size


def _text(path: Path, kind: str, named: str) -> Document:
    content = path.read_bytes()
    if kind == _PLAIN and (named in TABLES or named in CODE):
        decoded = decode(content)
        text = clean(decoded.text)
        block = _table(text) if named in TABLES else Code(text.strip("\n"), CODE[named])
        return Document("", (block,), notes=decoded.notes)
    return convert(f"x{kind}", content)


def _is_mostly_empty(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Tell whether most cells of a table would be made up, and so much larger than its file."""
    return width * len(rows) > _MOST_MADE_UP * sum(map(len, rows)) + _FEW


def _table(text: str) -> Block:
    """Return comma- or tab-separated lines as a table; what is none stays as it is."""
    rows = rows_of(text)
    width = max(map(len, rows or ()), default=0)
    if not rows or width > _MOST_COLUMNS or _is_mostly_empty(rows, width):
        return Code(text.strip("\n"))
    even = [row + ("",) * (width - len(row)) for row in rows]
    return Table(header=even[0], rows=tuple(even[1:]))

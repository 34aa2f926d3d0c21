"""Select, download and convert attachments of pages; each failure names its remedy.

The CSV separator is the one under which lines are most alike: ``csv.Sniffer`` takes half a minute
for some 64 KB, and blocks the process meanwhile.
"""

from __future__ import annotations

import asyncio
import csv
import io
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from ingestion.confluence.offers import Offer, attachment_version
from ingestion.confluence.wiki import Wiki, WikiAttachment
from ingestion.documents.convert import convert, file_kind
from ingestion.documents.converter_process import (
    MOST_TEXT,
    TOO_MUCH_TEXT,
    convert_in_subprocess,
)
from ingestion.errors import DocumentRefused, PageUnreadable
from ingestion.text import clean, decode
from ingestion.types import Block, Code, Document, Finding, SourcePage, Table

TABLES = frozenset({".csv", ".tsv"})
CODE = {".json": "json", ".log": "", ".yaml": "yaml", ".yml": "yaml", ".xml": "xml"}
_ENDINGS = frozenset(
    {".pdf", ".docx", ".md", ".markdown", ".mdx", ".txt", ".text", ".html", ".htm", *TABLES, *CODE}
)
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_MEDIA_TYPES = frozenset({"application/pdf", _WORD, "application/json", "text/plain"})
_MB = 1024 * 1024


def ending(attachment: WikiAttachment) -> str:
    """Return the lower-case file extension of an attachment's name, the only part that is used."""
    return PurePosixPath(attachment.name.replace("\\", "/")).suffix.lower()


def offered(attachment: WikiAttachment, offer: Offer, most: int) -> SourcePage | Finding:
    """Return an attachment as a page below its own page, with the same readers, or why not.

    Args:
        attachment: the file.
        offer: the offer of its page.
        most: bytes; a larger file is left out.
    """
    page_id = f"{offer.head.id}/{attachment.id}"
    reason = _why_not(attachment, most)
    if reason:
        return Finding(page_id, reason)
    ancestors = (*offer.page.ancestors, offer.head.title)
    return replace(
        offer.page,
        id=page_id,
        version=attachment_version(attachment, ancestors=ancestors, labels=offer.labels),
        url=attachment.url,
        ancestors=ancestors,
        old_text_readers=None,
    )


def _why_not(attachment: WikiAttachment, most: int) -> str:
    kind = ending(attachment)
    if kind not in _ENDINGS and attachment.media_type.partition(";")[0] not in _MEDIA_TYPES:
        shown = f"of type {kind}" if kind else "without an ending"
        return f"attachments {shown} are not read"
    if attachment.bytes > most:
        return (
            f"larger than {most // _MB} MB ({attachment.bytes / _MB:.1f} MB); raise "
            "CONFLUENCE_ATTACHMENT_MB to have it read"
        )
    return ""


_SEPARATORS = ",;\t|"
_HEAD_CHARACTERS = 65536
_LINES = 50


def csv_rows(text: str) -> Sequence[tuple[str, ...]] | None:
    """Return the non-blank lines as cells; None where no separator fits."""
    separator = _separator(text)
    if separator is None:
        return None
    try:
        return list(_rows(text, separator))
    except csv.Error:
        return None


def _separator(text: str) -> str | None:
    """Return the separator that gives most of the first lines the same number of cells."""
    head = text[:_HEAD_CHARACTERS]
    best = max(_SEPARATORS, key=lambda separator: _width_agreement(head, separator))
    return best if _width_agreement(head, best) > (0, 0) else None


def _width_agreement(head: str, separator: str) -> tuple[int, int]:
    """Return how many of the first lines have the most common width, and that width."""
    widths = Counter[int]()
    try:
        for _, row in zip(range(_LINES), _rows(head, separator), strict=False):
            widths[len(row)] += 1
    except csv.Error:
        return 0, 0
    width, lines = max(widths.items(), key=lambda one: (one[1], one[0]), default=(0, 0))
    return (lines, width) if width > 1 else (0, 0)


def _rows(text: str, separator: str) -> Iterator[tuple[str, ...]]:
    lines = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    for cells in lines:
        row = tuple(cell.strip() for cell in cells)
        if any(row):
            yield row


_IN_SUBPROCESS = frozenset({".pdf", ".docx"})
_PLAIN = ".txt"
_SMALL = 512 * 1024
"""Bytes of text that are converted in this process: more may take minutes and gigabytes of
memory."""
_MOST_COLUMNS = 200
_MOST_PADDING = 4
_FEW = 10_000


class AttachmentReader:
    """Converts attachments: PDF, Word and long texts in a subprocess, the rest in this process.

    Args:
        wiki: where they are downloaded from.
        most: bytes; a larger file is not read.
    """

    def __init__(self, wiki: Wiki, most: int) -> None:
        self._wiki = wiki
        self._most = most
        # Pages are read concurrently, but each of these subprocesses may take much memory.
        self._aside = asyncio.Semaphore(1)

    async def read(self, attachment: WikiAttachment, labels: Sequence[str]) -> Document:
        """Return an attachment's document; ``labels`` are those of its page.

        The title, labels and address that the file itself gives are ignored.
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
        if kind in _IN_SUBPROCESS or (size > _SMALL and not as_it_is):
            async with self._aside:
                return await convert_in_subprocess(path, kind)
        if size > MOST_TEXT:
            raise PageUnreadable(TOO_MUCH_TEXT)
        return await asyncio.to_thread(_text, path, kind, named)


def _kind_and_size(path: Path, name: str) -> tuple[str, int]:
    return file_kind(path, name), path.stat().st_size


def _text(path: Path, kind: str, named: str) -> Document:
    content = path.read_bytes()
    if kind == _PLAIN and (named in TABLES or named in CODE):
        decoded = decode(content)
        text = clean(decoded.text)
        block = _table(text) if named in TABLES else Code(text.strip("\n"), CODE[named])
        return Document("", (block,), notes=decoded.notes)
    return convert(f"x{kind}", content)


def _is_mostly_empty(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether most cells would be padding, and the table much larger than its file."""
    return width * len(rows) > _MOST_PADDING * sum(map(len, rows)) + _FEW


def _table(text: str) -> Block:
    """Return comma- or tab-separated lines as a table, any other text as code."""
    rows = csv_rows(text)
    width = max(map(len, rows or ()), default=0)
    if not rows or width > _MOST_COLUMNS or _is_mostly_empty(rows, width):
        return Code(text.strip("\n"))
    even = [row + ("",) * (width - len(row)) for row in rows]
    return Table(header=even[0], rows=tuple(even[1:]))

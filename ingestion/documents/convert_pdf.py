"""Convert a PDF to blocks with page numbers: lines joined to paragraphs, lists and headings."""

from __future__ import annotations

import io
import itertools
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from ingestion.documents.pdf_layout import Line, page_lines, table_at, without_repeats
from ingestion.errors import PageUnreadable
from ingestion.text import clean
from ingestion.types import Block, Document, Heading, ItemList, Paragraph

_BULLET = re.compile(r"(?:[•▪◦‣●○■□❖➢\uf0b7\uf0a7·]|[-\u2013*](?=\s))\s*(?=\S)")
_NUMBERED = re.compile(r"\(?(\d{1,2}|[a-z])[.)]\s+(?=\S)")
_HEADING_SCALE = 1.15
_LONGEST_HEADING = 150
_LONGEST_BOLD_HEADING = 80
_GAP_SCALE = 1.45
_ROOM_SHARE = 0.85
_OUTDENT = 4.0


def pdf_document(content: bytes) -> Document:
    """Return a PDF's text, page by page; ``title`` is "" unless the file has a usable one.

    Raises:
        PageUnreadable: encrypted, broken, or without text.
    """
    try:
        reader = PdfReader(io.BytesIO(content))
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = [] if locked else without_repeats([page_lines(page) for page in reader.pages])
        title, updated = ("", None) if locked else (_title(reader), _updated(reader))
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise PageUnreadable("is a broken PDF; print it to a new PDF") from error
    except NotImplementedError as error:
        raise PageUnreadable("uses a PDF feature that cannot be read") from error
    if locked:
        raise PageUnreadable("is encrypted; save it without a password")
    blocks = tuple(_blocks(pages))
    if not blocks and pages:
        raise PageUnreadable("holds no text, only pictures; run text recognition (OCR) on it")
    return Document(title, blocks, updated_at=updated)


def _title(reader: PdfReader) -> str:
    title = " ".join(clean(str(reader.metadata.title or "")).split()) if reader.metadata else ""
    unusable = re.search(r"^(?:Microsoft \w+ -|untitled)|\.\w{2,4}$", title, re.IGNORECASE)
    return "" if unusable else title


def _updated(reader: PdfReader) -> datetime | None:
    try:
        moment = reader.metadata.modification_date if reader.metadata else None
    except ValueError:
        return None
    if moment is None:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _blocks(pages: Sequence[tuple[Line, ...]]) -> Iterable[Block]:
    lines = [line for page in pages for line in page if line.text]
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    larger = sorted({line.size for line in lines if line.size >= body * _HEADING_SCALE})[::-1]
    levels = {size: min(level, 5) for level, size in enumerate(larger, start=1)}
    words = set(re.findall(r"[\w-]+", " ".join(line.text for line in lines)))
    for number, page in enumerate(pages, start=1):
        yield from _page_blocks(page, number, levels, words)


def _page_blocks(
    lines: Sequence[Line], number: int, levels: dict[float, int], words: set[str]
) -> Iterable[Block]:
    waiting: list[Line] = []
    position = 0
    while position < len(lines):
        found = table_at(lines, position, number) if lines[position].text else None
        if found is None:
            waiting.append(lines[position])
            position += 1
            continue
        yield from _running(waiting, number, levels, words)
        waiting = []
        table, position = found
        yield table
    yield from _running(waiting, number, levels, words)


def _running(
    lines: Sequence[Line], number: int, levels: dict[float, int], words: set[str]
) -> Iterable[Block]:
    """Yield the blocks of lines outside tables."""
    items: list[str] = []
    for group in _groups(lines, levels):
        text = _joined([line.text for line in group], words)
        level = _level(group, levels)
        if level is None and _is_item(text):
            items.append(_BULLET.sub("- ", text, count=1))
            continue
        if items:
            yield ItemList(tuple(items), number)
            items = []
        yield Heading(level, text, number) if level else Paragraph(text, number)
    if items:
        yield ItemList(tuple(items), number)


def _groups(lines: Sequence[Line], levels: dict[float, int]) -> Iterable[list[Line]]:
    """Yield groups of lines: one paragraph, item or heading each."""
    widest = max((len(line.text) for line in lines), default=0)
    pitch = _pitch(lines)
    group: list[Line] = []
    for line in lines:
        if group and (not line.text or _breaks(group, line, levels, widest, pitch)):
            yield group
            group = []
        if line.text:
            group.append(line)
    if group:
        yield group


def _breaks(
    group: list[Line], line: Line, levels: dict[float, int], widest: int, pitch: float
) -> bool:
    last = group[-1]
    if _level([line], levels) != _level(group, levels) or line.size != last.size:
        return True
    if _is_item(line.text) or (_is_item(group[0].text) and line.x < last.x - _OUTDENT):
        return True
    if last.y is not None and line.y is not None and abs(last.y - line.y) > pitch * _GAP_SCALE:
        return True
    if _level([line], levels) is not None:
        return False
    first_word = line.text.split(" ", 1)[0]
    return len(last.text) + 1 + len(first_word) < widest * _ROOM_SHARE


def _is_item(text: str) -> bool:
    return bool(_BULLET.match(text) or _NUMBERED.match(text))


def _pitch(lines: Sequence[Line]) -> float:
    heights = [line.y for line in lines if line.y is not None]
    steps = [abs(a - b) for a, b in itertools.pairwise(heights) if abs(a - b) > 1]
    return statistics.median(steps) if steps else float("inf")


def _level(group: list[Line], levels: dict[float, int]) -> int | None:
    """Return the heading level of lines that are larger or bold throughout, else None."""
    text = " ".join(line.text for line in group)
    if len(text) > _LONGEST_HEADING or not re.search(r"\w", text):
        return None
    if group[0].size in levels:
        return levels[group[0].size]
    ends_open = not text.endswith((".", ",", ";", ":"))
    if all(line.bold for line in group) and ends_open and len(text) <= _LONGEST_BOLD_HEADING:
        return min(max(levels.values(), default=0) + 1, 6)
    return None


def _joined(texts: list[str], words: set[str]) -> str:
    """Join printed lines; remove a hyphen at a line's end if the whole word occurs elsewhere."""
    joined = texts[0]
    for text in texts[1:]:
        head = re.search(r"([\w-]*\w)-$", joined)
        tail = re.match(r"[a-z]\w*", text)
        if head is None or tail is None:
            joined = f"{joined} {text}"
        elif head[1] + tail[0] in words and f"{head[1]}-{tail[0]}" not in words:
            joined = joined[:-1] + text
        else:
            joined += text
    return joined

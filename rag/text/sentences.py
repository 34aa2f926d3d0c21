"""Split a passage into quotable units (sentences, items, rows, code) with offsets; no I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["sentence", "item", "row", "code"]

LONG_ITEM_WORDS = 40
"""A list item with more words than this is split into its sentences."""

SHORT_CODE_LINES = 12
"""Maximum number of lines of a code block that is one unit; a longer one has a unit per line."""

_LineKind = Literal["blank", "fence", "heading", "rule", "row", "item", "text"]

_ITEM = re.compile(r"(\s*)(?:[-*+\u2022\u25aa\u25e6]|\d{1,3}[.)])\s+(?=\S)")
_PATTERNS: tuple[tuple[_LineKind, re.Pattern[str]], ...] = (
    ("fence", re.compile(r"\s*(?:```|~~~)")),
    ("heading", re.compile(r"#{1,6}\s")),
    ("rule", re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+\s*:?-*:?\s*$")),
    ("rule", re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*$")),
    ("row", re.compile(r"\s*\|.*\|\s*$")),
    ("item", _ITEM),
)
_OPENING = r"[\"'(\[*_`#@\u201c\u2018]"
_CLOSING = r"[\"')\]*_`\u201d\u2019]"
_SENTENCE_END = re.compile(rf"[.!?\u2026]{_CLOSING}*(?=\s+{_OPENING}*[A-Z0-9])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|al|approx|incl|excl|no|nos|fig|sec|ext|tel|mr|mrs|ms|dr|prof|st"
    r"|jr|sr|inc|ltd|co|dept|est|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tue|wed|thu"
    r"|fri|sat|sun)|\b[a-z]|\b(?:[a-z]\.)+[a-z])\.$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION = len("approx")
_LONGEST_END = 24
"""Number of characters before a sentence's end that are searched for an abbreviation."""

_MARK = re.compile(r"[\[*_`>{|]")
"""A text without any of these has no invisible Markdown."""

HEADING_WORDS = 6
_TELLING = re.compile(r"[\d@]|#\w|[.!?:;]\W*$")
"""Characters that headings rarely have: of a number, an address, a channel, final punctuation."""

_LINK = re.compile(r"!?\[([^\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_MARKS = re.compile(r"\*\*|__|`|^\s*>\s?|\{:[^}]*\}", re.MULTILINE)


class Unit(NamedTuple):  # made by the hundred, as TextBlock
    """One sentence, list item, table row or block of code: ``text[start:end]`` of its passage.

    ``lead`` is the index, among the passage's units, of the sentence that introduces the list or of
    the item above a nested one; ``header`` that of the table's first row.
    """

    kind: Kind
    start: int
    end: int
    lead: int | None = None
    header: int | None = None


class TextBlock(NamedTuple):
    """A block of consecutive lines; ``indent`` is set for list items only."""

    kind: Literal["paragraph", "item", "row", "rule", "code", "heading"]
    start: int
    end: int
    indent: int = 0


def without_markdown(text: str) -> str:
    """Return a text without Markdown marks and link targets, as a reader sees it."""
    if not _MARK.search(text):
        return text.strip()
    return _MARKS.sub("", _LINK.sub(r"\1", text)).replace("|", " ").strip()


def is_heading(text: str) -> bool:
    """Return whether a paragraph is a heading written as a line of text."""
    shown = without_markdown(text)
    return len(shown.split()) <= HEADING_WORDS and not _TELLING.search(shown)


@lru_cache(maxsize=4096)
def split_units(text: str) -> tuple[Unit, ...]:
    """Return the units of a passage in reading order; they never overlap.

    Headings and rules are no units. Any text is valid. Cached, because the same pages recur.
    """
    units: list[Unit] = []
    lead: int | None = None
    header: int | None = None
    items: list[tuple[int, int]] = []
    for block in blocks_of(text):
        if block.kind not in {"row", "rule"}:
            header = None
        if block.kind == "item":
            items = [(indent, at) for indent, at in items if indent < block.indent]
            above = items[-1][1] if items else lead
            items.append((block.indent, len(units)))
            units.extend(unit._replace(lead=above) for unit in _item_units(text, block))
        elif block.kind == "row":
            above = header
            header = len(units) if header is None else header
            units.extend(_trimmed(text, "row", block, lead=lead, header=above))
        elif block.kind in {"paragraph", "heading"}:
            items = []
            if block.kind == "paragraph":
                units.extend(_sentences(text, block))
            lead = _introduces(text, units) if block.kind == "paragraph" else None
        elif block.kind == "code":
            units.extend(_code_units(text, block, lead))
    return tuple(units)


def _introduces(text: str, units: list[Unit]) -> int | None:
    """Return the index of the last unit if it introduces what follows (ends with ":")."""
    if units and without_markdown(text[units[-1].start : units[-1].end]).rstrip("*_ ").endswith(
        ":"
    ):
        return len(units) - 1
    return None


def blocks_of(text: str) -> Iterator[TextBlock]:
    """Yield a passage's blocks of lines; blank lines end paragraphs and items."""
    lines = iter(_lines(text))
    open_block: TextBlock | None = None
    for start, line in lines:
        end = start + len(line)
        kind = _kind(line)
        if kind == "text" and open_block:
            open_block = open_block._replace(end=end)
            continue
        if open_block:
            yield open_block
        open_block = _opened(line, start, end) if kind in {"item", "text"} else None
        if kind == "fence":
            yield _fenced(line, end, lines, len(text))
        elif kind in {"row", "rule", "heading"}:
            yield TextBlock(kind, start, end)
    if open_block:
        yield open_block


def _fenced(opening: str, start: int, lines: Iterator[tuple[int, str]], length: int) -> TextBlock:
    """Return the code block up to its closing fence; an unclosed one extends to the end."""
    mark = opening.strip()[:3]
    for at, line in lines:
        if line.strip().startswith(mark):
            return TextBlock("code", start, at)
    return TextBlock("code", start, length)


def _opened(line: str, start: int, end: int) -> TextBlock:
    item = _ITEM.match(line)
    if item:
        return TextBlock("item", start + item.end(), end, len(item[1].expandtabs(4)))
    return TextBlock("paragraph", start, end)


def _kind(line: str) -> _LineKind:
    if not line.strip():
        return "blank"
    return next((kind for kind, pattern in _PATTERNS if pattern.match(line)), "text")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def _item_units(text: str, block: TextBlock) -> list[Unit]:
    if len(without_markdown(text[block.start : block.end]).split()) <= LONG_ITEM_WORDS:
        return _trimmed(text, "item", block)
    return [unit._replace(kind="item") for unit in _sentences(text, block)]


def _code_units(text: str, block: TextBlock, lead: int | None) -> list[Unit]:
    body = text[block.start : block.end]
    if body.strip("\n").count("\n") < SHORT_CODE_LINES:
        return _trimmed(text, "code", block, lead=lead)
    return [
        unit
        for start, line in _lines(body)
        for unit in _trimmed(
            text, "code", TextBlock("code", block.start + start, block.start + start + len(line))
        )
    ]


def _trimmed(
    text: str, kind: Kind, block: TextBlock, *, lead: int | None = None, header: int | None = None
) -> list[Unit]:
    """Return the block as one unit without surrounding white space, or nothing if empty."""
    body = text[block.start : block.end]
    start = block.start + len(body) - len(body.lstrip())
    end = block.start + len(body.rstrip())
    return [Unit(kind, start, end, lead, header)] if start < end else []


def _is_abbreviated(text: str, start: int, end: int) -> bool:
    """Return whether the full stop at a sentence's end is that of an abbreviation."""
    # Most ends are decided without the pattern: it costs more than all other splitting.
    word = text[max(start, end - 2 - _LONGEST_ABBREVIATION) : end - 1]
    if text[end - 1] != "." or not word[-1:].isalpha():
        return False
    if word.isalpha() and len(word) > _LONGEST_ABBREVIATION:
        return False
    return bool(_ABBREVIATION.search(text, max(start, end - _LONGEST_END), end))


def _sentences(text: str, block: TextBlock) -> list[Unit]:
    units: list[Unit] = []
    start = block.start
    for match in _SENTENCE_END.finditer(text, block.start, block.end):
        if _is_abbreviated(text, start, match.end()):
            continue
        units += _trimmed(text, "sentence", TextBlock("paragraph", start, match.end()))
        start = match.end()
    return units + _trimmed(text, "sentence", TextBlock("paragraph", start, block.end))

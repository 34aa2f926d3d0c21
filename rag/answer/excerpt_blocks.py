"""Turn excerpts of stored pages into blocks, with the key lines in bold; no I/O.

The index stores pages as Markdown. Here, where the offsets of each line are known, is the one place
that reads lists, cells and fences from it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rag.answer.excerpts import Excerpt, merged
from rag.parts import Block, CitedText, Code, Item, ItemList, Table, paragraph
from rag.text import sentences
from rag.text.blocks import Span
from rag.text.sentences import TextBlock

Place = tuple[str, int, int]
"""A chunk's id, and the start and end offsets in its text."""

_BOLD = "**"
_BAR = re.compile(r"(?<!\\)\|")
_NUMBER = re.compile(r"\s*(\d{1,3})[.)]\s")


def blocks_of(excerpt: Excerpt, decisive: Collection[Place] = ()) -> tuple[Block, ...]:
    """Return an excerpt with what introduces it; the spans in ``decisive`` are in bold."""
    above = (paragraph(_inline(span, decisive)) for span in excerpt.block.above)
    return (*above, *_body(excerpt, decisive))


def _body(excerpt: Excerpt, decisive: Collection[Place]) -> Iterator[Block]:
    block, entries = excerpt.block, excerpt.entries
    match block.kind:
        case "list" | "steps":
            pieces = deque(piece for entry in entries for piece in _pieces(entry, decisive))
            yield from _blocks(pieces, -1)
        case "table":
            header = _cells(block.header.quote.split("\n")[0]) if block.header else ()
            yield Table.of(header, [_row(entry, decisive) for entry in entries])
        case "code":
            opening = block.header.quote if block.header else ""
            yield Code("\n".join(entry.quote for entry in entries), _language(opening))
        case "paragraph":
            yield paragraph(" ".join(_inline(run, decisive) for run in merged(entries)))


@dataclass(frozen=True, slots=True)
class _Piece:
    """The text of a list item, with the number of a step; or a ``block`` below an item."""

    indent: int
    block: Block | None = None
    text: str = ""
    number: int | None = None


def _pieces(entry: Span, decisive: Collection[Place]) -> Iterator[_Piece]:
    rows: list[Span] = []
    for each in sentences.blocks_of(entry.quote):
        span = Span(entry.chunk, entry.start + each.start, entry.start + each.end)
        if each.kind in {"row", "rule"}:
            rows += [span] if each.kind == "row" else []
            continue
        if rows:
            yield _table_piece(rows, decisive)
            rows = []
        yield _piece(entry.quote, each, span, decisive)
    if rows:
        yield _table_piece(rows, decisive)


def _piece(text: str, block: TextBlock, span: Span, decisive: Collection[Place]) -> _Piece:
    line = text[text.rfind("\n", 0, block.start) + 1 :]
    if block.kind == "code":
        opening = text[: block.start].removesuffix("\n").rpartition("\n")[2]
        return _Piece(_indent(opening), _dedented(span.quote, opening))
    shown = _inline(span, decisive)
    if block.kind != "item":
        return _Piece(_indent(line), paragraph(shown))
    number = _NUMBER.match(line)
    return _Piece(block.indent, None, shown, int(number[1]) if number else None)


def _table_piece(rows: Sequence[Span], decisive: Collection[Place]) -> _Piece:
    header, *body = rows
    table = Table.of(_cells(header.quote), [_row(each, decisive) for each in body])
    return _Piece(_indent(header.quote), table)


def _dedented(code: str, opening: str) -> Code:
    indent = opening[: _indent(opening)]
    lines = code.strip("\n").split("\n")
    return Code("\n".join(line.removeprefix(indent) for line in lines), _language(opening))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _blocks(pieces: deque[_Piece], floor: int) -> Iterator[Block]:
    """Take the pieces that are indented more than ``floor``, and yield the blocks of them."""
    while pieces and pieces[0].indent > floor:
        block = pieces[0].block
        if block is None:
            yield _list(pieces)
        else:
            pieces.popleft()
            yield block


def _list(pieces: deque[_Piece]) -> ItemList:
    """Take a list with all that is below its items."""
    first, items = pieces[0], []
    while pieces and _goes_on(first, pieces[0]):
        head = pieces.popleft()
        items.append(Item(CitedText(head.text), tuple(_blocks(pieces, head.indent))))
    ordered = first.number is not None
    return ItemList(tuple(items), ordered, first.number if first.number is not None else 1)


def _goes_on(first: _Piece, piece: _Piece) -> bool:
    """Return whether a piece is an item of the list that begins with ``first``."""
    alike = (piece.number is None) == (first.number is None)
    return piece.block is None and piece.indent >= first.indent and alike


def _inline(span: Span, decisive: Collection[Place]) -> str:
    """Return a span with its key lines in bold, and without the indents of its lines."""
    text, shown, at = span.chunk.text, "", span.start
    for start, end in sorted(place[1:] for place in decisive if span.holds(*place)):
        shown += text[at:start] + "\n".join(map(_bold, text[start:end].split("\n")))
        at = end
    shown += text[at : span.end]
    return "\n".join(line.strip() for line in shown.strip().split("\n"))


def _bold(line: str) -> str:
    """Return a line in bold; a line that has code and bold marks stays as it is."""
    bare = line.strip()
    if not bare or ("`" in bare and _BOLD in bare):
        return line
    return f"{_BOLD}{bare.replace(_BOLD, '')}{_BOLD}"


def _row(row: Span, decisive: Collection[Place]) -> tuple[str, ...]:
    cells = _cells(row.quote)
    key = any(row.holds(*place) for place in decisive)
    return tuple(map(_bold, cells)) if key else cells


def _cells(row: str) -> tuple[str, ...]:
    inner = row.strip().removeprefix("|").removesuffix("|")
    return tuple(cell.strip().replace("\\|", "|") for cell in _BAR.split(inner))


def _language(opening: str) -> str:
    """Return the language that a fence names, "" if it names none."""
    return next(iter(opening.strip().lstrip("`~").split()), "")

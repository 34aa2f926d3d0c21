"""Group chunks' text into paragraphs, lists, tables and code, each a byte-exact quote; no I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from rag.text.sentences import TextBlock, blocks_of, is_heading, split_units
from rag.types import Chunk

BlockKind = Literal["paragraph", "list", "steps", "table", "code"]

_NUMBER = re.compile(r"\s*(\d{1,3})[.)]\s")
_UNFINISHED = re.compile(r"[\w,;\u2013-]\s*$")
_LONGEST_LABEL = 120
_PieceKind = Literal["heading", "paragraph", "item", "row", "rule", "code"]


class Span(NamedTuple):
    """A span of a chunk's text: ``chunk.text[start:end]``."""

    chunk: Chunk
    start: int
    end: int

    @property
    def quote(self) -> str:
        return self.chunk.text[self.start : self.end]

    def holds(self, chunk_id: str, start: int, end: int) -> bool:
        """Return whether another span lies within this one."""
        return self.chunk.id == chunk_id and self.start <= start and end <= self.end


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list, table or block of code of a section.

    ``above`` are the headings and the sentence that introduce it; they are always shown with it.
    ``entries`` are the parts between which it may be cut: sentences, items with their nested
    content, rows, or lines of code. ``header`` is a table's first row with its rule, or the opening
    fence of code, ``footer`` the closing fence. ``numbers`` are those of the entries of ``steps``
    as on the page, None for the continuation of an entry.
    """

    kind: BlockKind
    entries: tuple[Span, ...]
    above: tuple[Span, ...] = ()
    header: Span | None = None
    footer: Span | None = None
    numbers: tuple[int | None, ...] = ()


class _Piece(NamedTuple):
    """A run of lines; ``indent`` and ``number`` are set for list items only."""

    kind: _PieceKind
    span: Span
    sentences: tuple[Span, ...] = ()
    indent: int = 0
    number: int | None = None


def blocks_in(chunks: Sequence[Chunk]) -> Iterator[Block]:
    """Yield the blocks of consecutive chunks; text that two chunks repeat comes once."""
    return _with_lead_ins(_grouped(piece for chunk in chunks for piece in _pieces_of(chunk)))


def _pieces_of(chunk: Chunk) -> Iterator[_Piece]:
    for kind, start, end, indent, sentences in _parsed(chunk.text):
        span = Span(chunk, start, end)
        number = _NUMBER.match(span.quote) if kind == "item" else None
        yield _Piece(
            kind,
            span,
            tuple(Span(chunk, *place) for place in sentences),
            indent,
            int(number[1]) if number else None,
        )


_Parsed = tuple[_PieceKind, int, int, int, tuple[tuple[int, int], ...]]


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[_Parsed, ...]:
    """Return the runs of lines of a text; cached, because the same pages recur."""
    sentences = [(unit.start, unit.end) for unit in split_units(text) if unit.kind == "sentence"]
    found: list[_Parsed] = []
    for block in blocks_of(text):
        start, end = _whole_lines(text, block)
        if start < end and block.kind != "heading":
            within = tuple(place for place in sentences if start <= place[0] and place[1] <= end)
            heading = block.kind == "paragraph" and is_heading(text[start:end])
            kind = "heading" if heading else block.kind
            found.append((kind, start, end, block.indent, within or ((start, end),)))
    return tuple(found)


def _whole_lines(text: str, block: TextBlock) -> tuple[int, int]:
    """Return the offsets of a block's lines: an item with its marker, code with its fences."""
    if block.kind == "code":
        start = text.rfind("\n", 0, max(0, block.start - 1)) + 1
        closing = text.find("\n", block.end)
        return start, len(text.rstrip()) if closing < 0 else closing
    start = text.rfind("\n", 0, block.start) + 1
    end = block.start + len(text[block.start : block.end].rstrip())
    if block.kind == "item":
        return start, end
    return start + len(text[start:end]) - len(text[start:end].lstrip()), end


def _grouped(pieces: Iterable[_Piece]) -> list[Block | Span]:
    """Return the blocks in order, and the headings between them as spans."""
    shown: list[Block | Span] = []
    for piece in pieces:
        if piece.kind == "heading":
            shown.append(piece.span)
        elif piece.kind == "item":
            _add_item(shown, piece)
        elif piece.kind in {"row", "rule"}:
            _add_row(shown, piece)
        elif piece.kind == "code":
            _add_code(shown, piece)
        else:
            _add_paragraph(shown, piece)
    return shown


def _add_item(shown: list[Block | Span], piece: _Piece) -> None:
    kind: BlockKind = "list" if piece.number is None else "steps"
    place = _list_before(shown, piece, kind)
    if place is None:
        shown.append(Block(kind, (piece.span,), numbers=(piece.number,)))
        return
    at, block = place
    for between in shown[at + 1 :]:
        for span in _spans(between):
            block = _with_longer_last(block, span)
    if piece.indent > _indent(block):
        block = _with_longer_last(block, piece.span)
    else:
        entries, numbers = (*block.entries, piece.span), (*block.numbers, piece.number)
        block = replace(block, entries=entries, numbers=numbers)
    shown[at:] = [block]


def _list_before(
    shown: Sequence[Block | Span], piece: _Piece, kind: BlockKind
) -> tuple[int, Block] | None:
    """Return the list that an item continues: the one right before it, or an interrupted one.

    Text between two steps with consecutive numbers is part of the first of them.
    """
    last = shown[-1] if shown else None
    if isinstance(last, Block) and last.kind in {"list", "steps"}:
        nested = piece.indent > _indent(last)
        if nested or last.kind == kind == "list":
            return len(shown) - 1, last
    for at in range(len(shown) - 1, -1, -1):
        block = shown[at]
        if kind == "list" or not isinstance(block, Block):
            return None
        if block.kind == "steps":
            known = [number for number in block.numbers if number is not None]
            return (at, block) if known and piece.number == known[-1] + 1 else None
    return None


def _indent(block: Block) -> int:
    quote = block.entries[0].quote
    return len(quote) - len(quote.lstrip())


def _spans(block: Block | Span) -> tuple[Span, ...]:
    if isinstance(block, Span):
        return (block,)
    framed = (block.header, *block.entries, block.footer)
    return (*block.above, *(span for span in framed if span))


def _with_longer_last(block: Block, span: Span) -> Block:
    """Return a list whose last entry is extended by a span."""
    last = block.entries[-1]
    if last.chunk.id == span.chunk.id:
        longer = last._replace(end=span.end)
        return replace(block, entries=(*block.entries[:-1], longer))
    return replace(block, entries=(*block.entries, span), numbers=(*block.numbers, None))


def _add_row(shown: list[Block | Span], piece: _Piece) -> None:
    table = shown[-1] if shown and isinstance(shown[-1], Block) else None
    if table is None or table.kind != "table":
        if piece.kind == "row":
            shown.append(Block("table", (piece.span,)))
        return
    if piece.kind == "row":
        repeated = table.header and table.header.quote.split("\n")[0] == piece.span.quote
        if not repeated:
            shown[-1] = replace(table, entries=(*table.entries, piece.span))
        return
    if "|" in piece.span.quote:
        _rule_off(shown, table, piece.span)


def _rule_off(shown: list[Block | Span], table: Block, rule: Span) -> None:
    """Make the row above a rule the header: of this table, or of another one right below it."""
    first = table.entries[-1] if table.entries else None
    if first is None or first.chunk.id != rule.chunk.id:
        return
    header = first._replace(end=rule.end)
    if len(table.entries) == 1 and table.header is None:
        shown[-1] = replace(table, entries=(), header=header)
    elif first.chunk.text[first.end : rule.start].strip() == "" and not _is_repeat(table, rule):
        shown[-1] = replace(table, entries=table.entries[:-1])
        shown.append(Block("table", (), header=header))


def _is_repeat(table: Block, rule: Span) -> bool:
    """Return whether a rule is the one of a header that the next chunk repeats."""
    if table.header is None:
        return False
    above = rule.chunk.text[: rule.start].rstrip("\n").rpartition("\n")[2]
    return above == table.header.quote.split("\n")[0]


def _add_code(shown: list[Block | Span], piece: _Piece) -> None:
    opening, *lines = _lines_of(piece.span)
    before = shown[-1] if shown and isinstance(shown[-1], Block) else None
    fence = opening.quote.strip()[:3]
    closing = lines.pop() if lines and lines[-1].quote.strip().startswith(fence) else None
    if not any(line.quote.strip() for line in lines):
        return
    if before and before.kind in {"list", "steps"} and opening.quote[:1].isspace():
        shown[-1] = _with_longer_last(before, piece.span)
    elif before and before.kind == "code" and _continues(before, opening):
        shown[-1] = replace(before, entries=(*before.entries, *lines), footer=closing)
    else:
        shown.append(Block("code", tuple(lines), header=opening, footer=closing))


def _lines_of(span: Span) -> list[Span]:
    lines: list[Span] = []
    at = span.start
    for line in span.quote.split("\n"):
        lines.append(Span(span.chunk, at, at + len(line)))
        at += len(line) + 1
    return lines


def _continues(code: Block, opening: Span) -> bool:
    """Return whether code at the start of a chunk continues the previous chunk's."""
    same = code.header is not None and code.header.quote == opening.quote
    return same and code.entries[-1].chunk.id != opening.chunk.id and opening.start == 0


def _add_paragraph(shown: list[Block | Span], piece: _Piece) -> None:
    before = shown[-1] if shown and isinstance(shown[-1], Block) else None
    if before is None or before.kind != "paragraph" or piece.span.start > 0:
        shown.append(Block("paragraph", piece.sentences))
        return
    said = {span.quote for span in before.entries}
    new = piece.sentences
    while new and new[0].quote in said:
        new = new[1:]
    if len(new) < len(piece.sentences) or _UNFINISHED.search(before.entries[-1].quote):
        shown[-1] = replace(before, entries=(*before.entries, *new))
    else:
        shown.append(Block("paragraph", new))


def _with_lead_ins(shown: Sequence[Block | Span]) -> Iterator[Block]:
    """Yield the blocks, each with the headings and the lead-in right above it."""
    above: tuple[Span, ...] = ()
    for block, following in pairwise([*shown, None]):
        if isinstance(block, Span):
            above = (*above, block)
        elif block is not None and block.entries:
            leads = isinstance(following, Block) and _is_lead_in(block, following)
            rest = block.entries[:-1] if leads else block.entries
            if rest or not leads:
                yield replace(block, above=above, entries=rest)
                above = ()
            if leads:
                above = (*above, block.entries[-1])


def _is_lead_in(block: Block, following: Block) -> bool:
    """Return whether a paragraph introduces the next block: it ends with ":" or is a label."""
    if block.kind != "paragraph" or not following.entries:
        return False
    last = block.entries[-1].quote.rstrip("*_ ")
    if len(block.entries) == 1 and len(last) <= _LONGEST_LABEL and last[-1:] not in ".!;,):":
        return True
    return following.kind != "paragraph" and last.endswith(":")

"""The parts of an answer as values: paragraphs, lists, tables, code, quotations; and their text.

A composer makes them and each platform renders them; nobody reads structure back from text. Text
within a part is inline Markdown: bold and code spans, on one or several lines. Code is literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

Citations = tuple[int, ...]
"""Numbers of an answer's sources, from 1."""

CELL_JOINT = " \u00b7 "
"""Between the cells of a row where a table is text."""

_BACKTICKS = re.compile("`+")
_SHORTEST_FENCE = 3


@dataclass(frozen=True, slots=True)
class CitedText:
    """Inline Markdown, and the sources that support it."""

    text: str
    citations: Citations = ()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences that belong together; each may have sources of its own."""

    texts: tuple[CitedText, ...]
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True, slots=True)
class Item:
    """One step or bullet, with what is below it: nested lists, paragraphs, code, tables."""

    text: CitedText
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list; an ``ordered`` one counts its steps from ``start``."""

    items: tuple[Item, ...]
    ordered: bool = False
    start: int = 1
    kind: Literal["list"] = "list"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, as many in each as in ``header``, which is () if the page has none."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    citations: Citations = ()
    kind: Literal["table"] = "table"

    @classmethod
    def of(cls, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
        """Return a table whose rows are filled up to the longest; an empty header is none."""
        kept = [tuple(row) for row in rows]
        width = max(map(len, (header, *kept)))
        first, *rest = (row + ("",) * (width - len(row)) for row in (tuple(header), *kept))
        return cls(first if any(map(str.strip, first)) else (), tuple(rest))

    @property
    def lines(self) -> tuple[tuple[str, ...], ...]:
        """The header, if there is one, and the rows."""
        return (self.header, *self.rows) if self.header else self.rows


@dataclass(frozen=True, slots=True)
class Code:
    """Code, byte for byte; ``language`` is the page's name for it, "" if it has none."""

    text: str
    language: str = ""
    citations: Citations = ()
    kind: Literal["code"] = "code"


@dataclass(frozen=True, slots=True)
class Omission:
    """What is left out of the page here; of ``steps`` the numbers of the first and the last."""

    of: Literal["text", "rows", "steps"] = "text"
    first: int | None = None
    last: int | None = None
    kind: Literal["omission"] = "omission"

    @property
    def note(self) -> str:
        """The omission in Frontdesk's words."""
        if self.of == "rows":
            return "\u2026 more rows on the page"
        if self.of == "text":
            return "\u2026 more on the page"
        if self.first == self.last:
            return f"\u2026 step {self.first} on the page"
        return f"\u2026 steps {self.first} to {self.last} on the page"


@dataclass(frozen=True, slots=True)
class Translation:
    """A model's unchecked translation of an answer for its asker; ``text`` is "" if unusable."""

    language: str
    text: str


Block = Paragraph | ItemList | Table | Code


@dataclass(frozen=True, slots=True)
class Quotation:
    """What a page says in its own words; ``blocks`` is never empty."""

    blocks: tuple[Block, ...]
    citations: Citations = ()
    kind: Literal["quotation"] = "quotation"


Part = Paragraph | ItemList | Table | Code | Quotation | Omission

_Any = TypeVar("_Any", Block, Part)


def paragraph(text: str, citations: Citations = ()) -> Paragraph:
    """Return a paragraph of one text."""
    return Paragraph((CitedText(text, citations),))


def with_texts(part: _Any, change: Callable[[str], str]) -> _Any:
    """Return a part with ``change`` applied to each inline text; code stays as it is."""
    match part:
        case Paragraph():
            return replace(part, texts=tuple(_changed(each, change) for each in part.texts))
        case ItemList():
            return replace(part, items=tuple(_changed_item(each, change) for each in part.items))
        case Table():
            header, rows = tuple(map(change, part.header)), part.rows
            return replace(part, header=header, rows=tuple(tuple(map(change, row)) for row in rows))
        case Quotation():
            return replace(part, blocks=tuple(with_texts(each, change) for each in part.blocks))
        case _:
            return part


def _changed(said: CitedText, change: Callable[[str], str]) -> CitedText:
    return replace(said, text=change(said.text))


def _changed_item(item: Item, change: Callable[[str], str]) -> Item:
    blocks = tuple(with_texts(each, change) for each in item.blocks)
    return Item(_changed(item.text, change), blocks)


def parts_text(parts: Iterable[Part]) -> str:
    """Return parts as text: the one form for notifications, records, plain-text clients.

    It is Markdown without tables: the rows of a quoted table are lines, those of another one list
    items. Code is fenced and stands outside of quotations and lists, where no platform shows it.
    """
    return "".join(each for each in text_and_blocks(parts, ()) if isinstance(each, str))


def text_and_blocks(
    parts: Iterable[Part], apart: tuple[type[Table | Code], ...]
) -> Iterator[str | Table | Code]:
    """Yield the text of parts, interrupted by the blocks of the types ``apart``, in order.

    The citation marks of such a block begin the text below it, so the block itself has none.
    """
    text, before = "", None
    for piece in _pieces(parts):
        if isinstance(piece.block, apart):
            if text:
                yield text
            yield replace(piece.block, citations=())
            text, before = piece.marks, None
            continue
        text += _joint(before, piece) if before else "\n\n" if text else ""
        text += _piece_text(piece)
        before = piece
    if text:
        yield text


@dataclass(frozen=True, slots=True)
class _Piece:
    """A block without code and tables inside; ``quoted`` numbers the quotation that it is in."""

    block: Block | Omission
    quoted: int | None = None
    marks: str = ""


def _pieces(parts: Iterable[Part]) -> Iterator[_Piece]:
    for number, part in enumerate(parts):
        if isinstance(part, Omission):
            yield _Piece(part)
        elif isinstance(part, Quotation):
            *before, end = (piece for block in part.blocks for piece in _cut(block))
            yield from (_Piece(each, number) for each in before)
            yield _Piece(end, number, marks_of(part.citations))
        else:
            marks = marks_of(part.citations) if isinstance(part, Table | Code) else ""
            yield from (_Piece(each, marks=marks) for each in _cut(part))


def _cut(block: Block) -> Iterator[Block]:
    """Yield a list in pieces, with the code and tables of its items between them."""
    if not isinstance(block, ItemList):
        yield block
        return
    kept: list[Item] = []
    start = block.start
    for number, item in enumerate(block.items, block.start):
        nested = [piece for each in item.blocks for piece in _cut(each)]
        at = next((n for n, each in enumerate(nested) if isinstance(each, Table | Code)), None)
        within = nested if at is None else nested[:at]
        kept.append(Item(item.text, tuple(within)))
        if at is not None:
            yield replace(block, items=tuple(kept), start=start)
            yield from nested[at:]
            kept, start = [], number + 1
    if kept:
        yield replace(block, items=tuple(kept), start=start)


def _joint(before: _Piece, piece: _Piece) -> str:
    """Return what is between two pieces; a quotation goes on over an empty line."""
    code = isinstance(before.block, Code) or isinstance(piece.block, Code)
    same = before.quoted is not None and before.quoted == piece.quoted
    return "\n>\n" if same and not code else "\n\n"


def _piece_text(piece: _Piece) -> str:
    block = piece.block
    if isinstance(block, Code):
        return f"{fenced(block)}\n{piece.marks}" if piece.marks else fenced(block)
    if isinstance(block, Omission):
        return f"_{block.note}_"
    quoted = piece.quoted is not None
    text = _with_marks("\n".join(_lines(block, quoted=quoted)), piece.marks)
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n")) if quoted else text


def _lines(block: Block, *, quoted: bool) -> Iterator[str]:
    match block:
        case Paragraph():
            yield " ".join(_cited(each) for each in block.texts)
        case ItemList():
            for number, item in enumerate(block.items, block.start):
                yield from _item_lines(item, f"{number}." if block.ordered else "-")
        case Table():
            yield from _row_lines(block, quoted=quoted)
        case Code():
            yield fenced(block)


def _item_lines(item: Item, mark: str) -> Iterator[str]:
    nested = (line for block in item.blocks for line in _lines(block, quoted=False))
    first, *rest = (line for text in (_cited(item.text), *nested) for line in text.split("\n"))
    yield f"{mark} {first}"
    yield from (f"{' ' * (len(mark) + 1)}{line}" for line in rest)


def _row_lines(table: Table, *, quoted: bool) -> Iterator[str]:
    header = CELL_JOINT.join(table.header)
    if header:
        yield header if quoted or not table.rows else f"{header}:"
    for row in table.rows:
        yield CELL_JOINT.join(row) if quoted else f"- {CELL_JOINT.join(row)}"


def _cited(said: CitedText) -> str:
    return _with_marks(said.text, marks_of(said.citations))


def _with_marks(text: str, marks: str) -> str:
    return f"{text} {marks}" if marks else text


def marks_of(citations: Citations) -> str:
    """Return citation numbers as the marks of a text, such as "[1][2]"."""
    return "".join(f"[{number}]" for number in citations)


def fenced(code: Code) -> str:
    """Return code in a Markdown fence that it can't end."""
    longest = max(map(len, _BACKTICKS.findall(code.text)), default=0)
    fence = "`" * max(_SHORTEST_FENCE, 1 + longest)
    return f"{fence}{code.language}\n{code.text}\n{fence}"

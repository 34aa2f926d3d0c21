"""Number the lines of passages for a model, and turn lines into claims; no I/O.

Citations by number always quote the stored text, so no copy can go wrong. In a passage, only we
write at the beginning of a line: text over several lines is indented, so that no page can fake a
number, a date or an owner. Chunks of one section are joined.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.answer.guardrails import must_be_quoted
from rag.parts import Code, Table, paragraph
from rag.text.plain_text import plain_text, visible
from rag.text.sentences import Unit, split_units, without_markdown
from rag.types import Chunk, Citation, Claim, PartKind

LEFT_OUT = "\u2026"
"""Marks omitted text of a section, on a line of its own."""

_INDENT = "    "
_RULE = re.compile(r"^[\s|:+-]*$")


@dataclass(frozen=True)
class Line:
    """A citable line: one sentence, list item, table row or block of code.

    ``at`` is its index in ``units``, those of its chunk.
    """

    chunk: Chunk
    units: tuple[Unit, ...]
    at: int

    @property
    def unit(self) -> Unit:
        return self.units[self.at]

    @property
    def stored(self) -> str:
        """The line byte for byte, without its list marker."""
        return self.chunk.text[self.unit.start : self.unit.end]

    @property
    def citation(self) -> Citation:
        return Citation(self.chunk.id, self.stored)

    @cached_property
    def above(self) -> tuple[Line, ...]:
        """The line's header and lead-in, and recursively theirs."""
        found: list[int] = []
        todo = [self.at]
        while todo:
            unit = self.units[todo.pop()]
            new = [each for each in (unit.header, unit.lead) if each is not None]
            todo += [each for each in new if each not in found]
            found += [each for each in new if each not in found]
        return tuple(Line(self.chunk, self.units, at) for at in sorted(found))


@dataclass(frozen=True, slots=True)
class NumberedLines:
    """Passages as shown to the model, and their lines; number 1 is the first line."""

    passages: tuple[str, ...]
    lines: tuple[Line, ...]

    def line(self, number: int) -> Line | None:
        """Return the line with a number, or None if there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None

    def beside(self, number: int) -> tuple[Line, ...]:
        """Return the lines before and after a line, within its section."""
        own = self.line(number)
        near = (self.line(number - 1), self.line(number + 1))
        return tuple(
            each for each in near if own and each and _section(each.chunk) == _section(own.chunk)
        )


def number_lines(chunks: Sequence[Chunk], superseded: Collection[str] = ()) -> NumberedLines:
    """Number the lines of chunks, given best first; ``superseded`` are labels in lower case.

    Chunks of one section are joined in page order, at the position of the best one. The result is
    deterministic for the same chunks in the same order.
    """
    passages: list[str] = []
    lines: list[Line] = []
    for section in _joined(chunks):
        shown = _head(section[0], superseded)
        before = section[0].ordinal - 1
        for chunk in section:
            shown += [] if chunk.ordinal == before + 1 else [_INDENT + LEFT_OUT]
            units = split_units(chunk.text)
            shown += _body(chunk.text, units, len(lines) + 1)
            lines += [Line(chunk, units, at) for at in range(len(units))]
            before = chunk.ordinal
        passages.append("\n".join(shown))
    return NumberedLines(tuple(passages), tuple(lines))


def _section(chunk: Chunk) -> tuple[str, str, str, tuple[str, ...]]:
    return chunk.tenant, chunk.space, chunk.page_id, chunk.breadcrumb


def _joined(chunks: Sequence[Chunk]) -> Iterator[Sequence[Chunk]]:
    by_section: dict[tuple[str, str, str, tuple[str, ...]], list[Chunk]] = {}
    for chunk in chunks:
        by_section.setdefault(_section(chunk), []).append(chunk)
    for each in by_section.values():
        yield sorted(each, key=lambda chunk: chunk.ordinal)


def _head(chunk: Chunk, superseded: Collection[str]) -> list[str]:
    shown = [f"Page: {' > '.join(map(_on_one_line, chunk.trail)) or chunk.title}"]
    if chunk.updated_at is not None:
        by = f" by {_on_one_line(chunk.updated_by)}" if chunk.updated_by else ""
        shown.append(f"Last changed: {chunk.updated_at.date().isoformat()}{by}")
    marks = [label for label in chunk.labels if label.casefold() in superseded]
    return shown + [f"Marked as: {_on_one_line(label)}" for label in marks[:1]]


def _body(text: str, units: Sequence[Unit], first: int) -> list[str]:
    shown: list[str] = []
    end = 0
    for number, unit in enumerate(units, first):
        *above, opening = text[end : unit.start].split("\n")
        shown += _unnumbered(above)
        shown.append(f"[{number}] {_with_item_mark(text, unit, opening)}")
        end = unit.end
    return shown + list(_unnumbered(text[end:].split("\n")))


def _with_item_mark(text: str, unit: Unit, opening: str) -> str:
    """Return a line with its list marker, which distinguishes steps from bullet points."""
    stored = text[unit.start : unit.end]
    if unit.kind == "code":
        return visible(opening + stored).replace("\n", "\n" + _INDENT)
    mark = opening if opening.strip() or unit.kind == "item" else ""
    return visible(mark).replace("\n", " ") + _on_one_line(stored)


def _unnumbered(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if not _RULE.match(line):
            yield _INDENT + _on_one_line(line)


def _on_one_line(text: str) -> str:
    return " ".join(visible(text).split())


_LONGEST_TITLE = 80
_LONGEST_QUOTE = 500
_QUOTATION_MARKS = re.compile('["\u201c\u201d\u201e\u201f\u00ab\u00bb]')
_CELL_BORDER = re.compile(r"(?<!\\)\|")


def table_claim(lines: Sequence[Line]) -> Claim | None:
    """Return the rows among the lines as a table with their header; None without any.

    Only rows of the first row's table: cells of another table would be below the wrong header.
    """
    rows = [line for line in lines if line.unit.kind == "row"]
    if not rows:
        return None
    header = _header(rows[0]) or rows[0]
    body = [row for row in rows if row.stored != header.stored and _is_below(header, row)]
    first, *others = cells = [_cells(each.stored) for each in (header, *body)]
    if any(must_be_quoted(" | ".join(each)) for each in cells):
        return quotation_claim((header, *body), "table")
    return Claim((Table.of(first, others),), citations_of((header, *body)), "table")


def _header(row: Line) -> Line | None:
    return next((each for each in row.above if each.unit.kind == "row"), None)


def _is_below(header: Line, row: Line) -> bool:
    """Return whether a row is below a header, or has none: a table's next chunk repeats it."""
    own = _header(row)
    return own is None or own.stored == header.stored


def code_claim(lines: Sequence[Line]) -> Claim | None:
    """Return the code among the lines as one block; None without any."""
    found = [line for line in lines if line.unit.kind == "code"]
    if not found:
        return None
    if any(must_be_quoted(visible(each.stored)) for each in found):
        return quotation_claim(found, "code")
    text = visible("\n".join(each.stored for each in found))
    return Claim((Code(text),), citations_of(found), "code")


def step_claim(lines: Sequence[Line]) -> Claim | None:
    """Return the page's own words as a step, in place of the model's; None if nothing is left."""
    introduced = {each.stored for line in lines for each in line.above}
    own = [line for line in lines if line.stored not in introduced]
    text = shown_words(own)
    if must_be_quoted(text):
        return quotation_claim(own, "step")
    return Claim((paragraph(text),), citations_of(own), "step") if text else None


def quotation_claim(lines: Sequence[Line], kind: PartKind) -> Claim | None:
    """Return the lines that only the page may state, as a quotation with the page's title.

    None when no line is of that kind: then only the model said so.
    """
    said = [line for line in lines if must_be_quoted(without_markdown(visible(line.stored)))]
    if not said:
        return None
    title = _cut(_without_quotation_marks(plain_text(said[0].chunk.title)), _LONGEST_TITLE)
    quote = _cut(_without_quotation_marks(shown_words(said)), _LONGEST_QUOTE)
    shown: PartKind = "step" if kind == "step" else "paragraph"
    stated = paragraph(f"The page \u201c{title}\u201d says: \u201c{quote}\u201d")
    return Claim((stated,), citations_of(said), shown)


def shown_words(lines: Sequence[Line]) -> str:
    """Return the words of some lines as plain text on one line: no links, mentions or markup."""
    return " ".join(plain_text(" ".join(without_markdown(line.stored) for line in lines)).split())


def _without_quotation_marks(text: str) -> str:
    """Remove quotation marks, which would seem to end the quotation."""
    return " ".join(_QUOTATION_MARKS.sub("", text).split())


def _cut(text: str, longest: int) -> str:
    """Return at most so many characters of a plain text, and no half of an address in code.

    Its mark would end the code of the next address, which would then be a link.
    """
    kept = text[:longest]
    return kept if kept.count("`") % 2 == 0 else kept[: kept.rindex("`")].rstrip()


def _cells(row: str) -> list[str]:
    _, *cells, last = _CELL_BORDER.split(row.strip())
    cells += [last] if last else []
    texts = (plain_text(without_markdown(each.replace("\\|", "/"))) for each in cells)
    return [" ".join(text.split()) for text in texts]


def citations_of(lines: Sequence[Line]) -> tuple[Citation, ...]:
    """Return a citation for each line, without duplicates."""
    return tuple(dict.fromkeys(line.citation for line in lines))

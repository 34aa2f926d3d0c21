"""Passages as a model reads them: joined to sections, every line that can be cited numbered. Pure.

What is cited by a number is always the stored text, so that no copy can go wrong. In a passage
everything at the beginning of a line is ours: text that runs over several lines is indented, and
no page can give itself a number, a date or an owner.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.plain_text import visible
from rag.sentences import Unit, split
from rag.types import Chunk, Citation

LEFT_OUT = "\u2026"
"""Stands alone on a line where text of the section is not shown."""

_INDENT = "    "
_RULE = re.compile(r"^[\s|:+-]*$")


@dataclass(frozen=True)
class Line:
    """A line that can be cited: one sentence, list item, table row or block of code.

    ``at`` is its position among ``units``, those of its chunk.
    """

    chunk: Chunk
    units: tuple[Unit, ...]
    at: int

    @property
    def unit(self) -> Unit:
        return self.units[self.at]

    @property
    def stored(self) -> str:
        """The line byte for byte, without the mark of its list item."""
        return self.chunk.text[self.unit.start : self.unit.end]

    @property
    def citation(self) -> Citation:
        return Citation(self.chunk.id, self.stored)

    @cached_property
    def above(self) -> tuple[Line, ...]:
        """What it is read under: header and lead-in, and the lead-ins of these."""
        found: list[int] = []
        todo = [self.at]
        while todo:
            unit = self.units[todo.pop()]
            new = [each for each in (unit.header, unit.lead) if each is not None]
            todo += [each for each in new if each not in found]
            found += [each for each in new if each not in found]
        return tuple(Line(self.chunk, self.units, at) for at in sorted(found))


@dataclass(frozen=True, slots=True)
class Numbered:
    """Passages as they are shown, and the lines behind the numbers: number 1 is the first."""

    passages: tuple[str, ...]
    lines: tuple[Line, ...]

    def line(self, number: int) -> Line | None:
        """Return the line with a number, or None where no line has it."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None

    def beside(self, number: int) -> tuple[Line, ...]:
        """Return the lines before and after one, within its section."""
        own = self.line(number)
        near = (self.line(number - 1), self.line(number + 1))
        return tuple(
            each for each in near if own and each and _section(each.chunk) == _section(own.chunk)
        )


def numbered(chunks: Sequence[Chunk], superseded: Collection[str] = ()) -> Numbered:
    """Number the lines of chunks, given best first; ``superseded`` are labels in lower case.

    Chunks of one section are joined in page order, where the best of them stands. The same chunks
    in the same order always give the same text.
    """
    passages: list[str] = []
    lines: list[Line] = []
    for section in _joined(chunks):
        shown = _head(section[0], superseded)
        before = section[0].ordinal - 1
        for chunk in section:
            shown += [] if chunk.ordinal == before + 1 else [_INDENT + LEFT_OUT]
            units = split(chunk.text)
            shown += _body(chunk.text, units, len(lines) + 1)
            lines += [Line(chunk, units, at) for at in range(len(units))]
            before = chunk.ordinal
        passages.append("\n".join(shown))
    return Numbered(tuple(passages), tuple(lines))


def _section(chunk: Chunk) -> tuple[str, str, str, tuple[str, ...]]:
    return chunk.tenant, chunk.space, chunk.page_id, chunk.breadcrumb


def _joined(chunks: Sequence[Chunk]) -> Iterator[Sequence[Chunk]]:
    by_section: dict[tuple[str, str, str, tuple[str, ...]], list[Chunk]] = {}
    for chunk in chunks:
        by_section.setdefault(_section(chunk), []).append(chunk)
    for each in by_section.values():
        yield sorted(each, key=lambda chunk: chunk.ordinal)


def _head(chunk: Chunk, superseded: Collection[str]) -> list[str]:
    shown = [f"Page: {' > '.join(map(_on_one_line, chunk.breadcrumb)) or chunk.title}"]
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
        shown.append(f"[{number}] {_written(text, unit, opening)}")
        end = unit.end
    return shown + list(_unnumbered(text[end:].split("\n")))


def _written(text: str, unit: Unit, opening: str) -> str:
    """Return a line with the mark of its list item, which tells steps from points."""
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

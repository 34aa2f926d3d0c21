"""Tables of an answer, for which the text of a message has no place: pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from bot.adapters.teams.showing.elements import text_block
from bot.adapters.teams.showing.sizes import most
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import card_text

Alignment = Literal["left", "center", "right"]

_RULE = re.compile(r"^ {0,3}(?=[^\n]*\|)\|? *:?-+:? *(?:\| *:?-+:? *)*(?:\| *)?$")
_BAR = re.compile(r"(?<!\\)\|")
_WIDEST = 40
_STEP = 8
"""Characters of a column's longest cell that make it one part wider."""


@dataclass(frozen=True, slots=True)
class Table:
    """A pipe table; cells are inert Markdown, as many in each row as there are columns."""

    columns: tuple[Alignment, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """All that is in it, for what looks for marks."""
        return "\n".join(cell for row in (self.header, *self.rows) for cell in row)

    def as_list(self) -> str:
        """Return its rows as Markdown lines, for a place that takes no table."""
        return "\n".join("- " + " \u00b7 ".join(row) for row in (self.header, *self.rows))

    def element(self) -> Json:
        """Return the table of a card; its first row is the header."""
        header = _row(self.header, weight="Bolder")
        return {
            "type": "Table",
            "firstRowAsHeaders": True,
            "showGridLines": True,
            "columns": [
                {"width": width, "horizontalCellContentAlignment": alignment}
                for width, alignment in zip(self._widths(), self.columns, strict=True)
            ],
            "rows": [header, *(_row(row) for row in self.rows)],
        }

    def parts(self, fits: Callable[[Json], bool]) -> tuple[Table, ...]:
        """Cut it between rows into tables that fit, each with the header; () if a row is too big.

        A table without rows is one part.
        """
        parts = list(self._packed(fits)) if self.rows else [self]
        return tuple(parts) if all(fits(part.element()) for part in parts) else ()

    def _packed(self, fits: Callable[[Json], bool]) -> Iterator[Table]:
        left = self.rows
        while left:
            part = self._begun(left, fits)
            yield part
            left = left[len(part.rows) :]

    def _begun(self, rows: tuple[tuple[str, ...], ...], fits: Callable[[Json], bool]) -> Table:
        count = most(len(rows), lambda n: fits(replace(self, rows=rows[:n]).element()))
        return replace(self, rows=rows[:count])

    def _widths(self) -> tuple[int, ...]:
        columns = zip(self.header, *self.rows, strict=True)
        return tuple(1 + min(max(map(len, cells)), _WIDEST) // _STEP for cells in columns)


def table_at(lines: Sequence[str], at: int) -> tuple[Table, int] | None:
    """Return the table that begins with a line, and the number of the line after it; or None."""
    if at + 1 >= len(lines) or not _RULE.match(lines[at + 1]):
        return None
    header, columns = _cells(lines[at]), tuple(map(_alignment, _cells(lines[at + 1])))
    if len(header) != len(columns) or not _BAR.search(lines[at]):
        return None
    rows = tuple(takewhile(_BAR.search, lines[at + 2 :]))
    filled = tuple(_filled(_cells(row), len(columns)) for row in rows)
    return Table(columns, header, filled), at + 2 + len(rows)


def _cells(line: str) -> tuple[str, ...]:
    bare = line.strip().removeprefix("|")
    bare = bare[:-1] if bare.endswith("|") and not bare.endswith("\\|") else bare
    return tuple(cell.strip().replace("\\|", "|") for cell in _BAR.split(bare))


def _filled(cells: tuple[str, ...], columns: int) -> tuple[str, ...]:
    """Return exactly as many cells as there are columns; what is too much joins the last."""
    padded = (*cells, *("" for _ in range(columns - len(cells))))
    return (*padded[: columns - 1], " | ".join(padded[columns - 1 :]))


def _alignment(rule: str) -> Alignment:
    if rule.endswith(":"):
        return "center" if rule.startswith(":") else "right"
    return "left"


def _row(cells: tuple[str, ...], **looks: object) -> Json:
    shown = [
        {"type": "TableCell", "items": [text_block(card_text(cell), **looks)]} for cell in cells
    ]
    return {"type": "TableRow", "cells": shown}

"""Tables of a PDF, seen by how their cells stand beside each other. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ingestion.pdf_lines import Line
from ingestion.types import Table

_NEAR = 3.0
_LINE_SCALE = 1.6
_LEAST_ROWS = 2
_LEAST_CELLS = 2


@dataclass(slots=True)
class _Cell:
    x: float
    last: float
    bold: bool
    texts: list[str] = field(default_factory=list)


_Numbered = tuple[int, Line]
"""A text and the number of the line that it is printed on."""


def table_at(lines: Sequence[Line], start: int, page: int) -> tuple[Table, int] | None:
    """Return the table that starts at a line and the line after it, or None if none does."""
    texts = _texts(lines, start)
    rows: list[list[_Cell]] = []
    position = 0
    while True:
        cells, end = _row(texts, position)
        if len(cells) < _LEAST_CELLS or (rows and not _aligned(cells, rows)):
            break
        rows.append(cells)
        position = end
    if len(rows) < _LEAST_ROWS:
        return None
    after = texts[position][0] if position < len(texts) else len(lines)
    if after == texts[position - 1][0]:
        return None
    return _table(rows, page), after


def _texts(lines: Sequence[Line], start: int) -> list[_Numbered]:
    return [
        (number, part)
        for number in range(start, len(lines))
        for part in lines[number].parts or (lines[number],)
        if part.y is not None
    ]


def _row(texts: Sequence[_Numbered], start: int) -> tuple[list[_Cell], int]:
    """Return the cells that stand beside each other from a text on, and the text after them."""
    cells: list[_Cell] = []
    top = 0.0
    for position in range(start, len(texts)):
        line = texts[position][1]
        height = line.y or 0.0
        above = _continued(cells, texts, position)
        if above:
            above.texts.append(line.text)
            above.last = height
        elif not cells or (line.x > cells[-1].x + _NEAR and abs(top - height) <= _NEAR):
            cells.append(_Cell(line.x, height, line.bold, [line.text]))
            top = height if len(cells) == 1 else top
        else:
            return cells, position
    return cells, len(texts)


def _continued(cells: Sequence[_Cell], texts: Sequence[_Numbered], position: int) -> _Cell | None:
    """Return the cell that a text is the next line of; a first cell with others beside is a row."""
    line = texts[position][1]
    for cell in cells:
        below = cell.last - (line.y or 0.0)
        if abs(line.x - cell.x) <= _NEAR and 0 < below <= line.size * _LINE_SCALE:
            starts_row = cell is cells[0] and _has_neighbour(texts, position)
            return None if starts_row else cell
    return None


def _has_neighbour(texts: Sequence[_Numbered], position: int) -> bool:
    if position + 1 >= len(texts):
        return False
    line, beside = texts[position][1], texts[position + 1][1]
    return beside.x > line.x + _NEAR and abs((beside.y or 0.0) - (line.y or 0.0)) <= _NEAR


def _aligned(cells: Sequence[_Cell], rows: Sequence[list[_Cell]]) -> bool:
    """Whether a row stands under the others: its first cell, and another one or all of them."""
    if abs(cells[0].x - rows[0][0].x) > _NEAR:
        return False
    columns = [cell.x for row in rows for cell in row[1:]]
    under = any(abs(cell.x - column) <= _NEAR for cell in cells[1:] for column in columns)
    return under or len(cells) == len(rows[0])


def _table(rows: Sequence[list[_Cell]], page: int) -> Table:
    columns = [cell.x for cell in max(rows, key=len)]
    texts = [_placed(row, columns) for row in rows]
    if all(cell.bold for cell in rows[0]):
        return Table(texts[0], tuple(texts[1:]), page)
    return Table((), tuple(texts), page)


def _placed(row: Sequence[_Cell], columns: Sequence[float]) -> tuple[str, ...]:
    """Return a row's texts, each in its column; numbers set flush right may start anywhere."""
    texts = [" ".join(cell.texts) for cell in row]
    if len(row) == len(columns):
        return tuple(texts)
    placed = [""] * len(columns)
    for cell, text in zip(row, texts, strict=True):
        nearest = min(range(len(columns)), key=lambda number: abs(columns[number] - cell.x))
        placed[nearest] = f"{placed[nearest]} {text}".strip()
    return tuple(placed)

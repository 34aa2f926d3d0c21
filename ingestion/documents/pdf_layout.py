"""Extract the lines and tables of a PDF from the position, size and weight of its text.

Repeated headers and footers are removed; tables are detected by the alignment of their cells.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pypdf import PageObject

from ingestion.text import clean
from ingestion.types import Table

_MARKER = re.compile(r"[•▪◦‣●○■□❖➢\uf0b7\uf0a7·\u2013*-]|\(?(?:\d{1,2}|[a-z])[.)]")
_NARROW = re.compile(r"[ iljtfrI1.,;:'|!()\[\]/-]")
_WIDE = re.compile(r"[A-HJ-Zmw@%]")
_WIDTH_DOUBT = 0.1
_EDGE_LINES = 3
_LEAST_PAGES = 3
_REPEATED_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line. ``size`` is in points; ``x`` and ``y`` are its start on the page.

    A list item starts after its marker. ``parts`` are texts separated by a wide gap, as in the rows
    of a table. A blank line has no position.
    """

    text: str
    size: float
    bold: bool
    x: float = 0.0
    y: float | None = None
    parts: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class _Run:
    text: str
    size: float
    bold: bool
    x: float
    y: float


def page_lines(page: PageObject) -> tuple[Line, ...]:
    """Return a page's lines in reading order; blank lines are kept as gaps."""
    runs: list[_Run] = []

    def visit(text: str, cm: Any, tm: Any, font: Any, size: float) -> None:  # noqa: ANN401  # pypdf
        scale = math.hypot(tm[0], tm[1]) * math.hypot(cm[0], cm[1])
        across = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
        height = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        bold = "bold" in str((font or {}).get("/BaseFont", "")).lower()
        runs.append(_Run(text, round(size * scale, 1), bold, across, height))

    page.extract_text(visitor_text=visit)
    return tuple(_with_markers(_lines(runs)))


def without_repeats(pages: Sequence[tuple[Line, ...]]) -> list[tuple[Line, ...]]:
    """Remove header and footer lines that most pages share, treating page numbers as equal."""
    if len(pages) < _LEAST_PAGES:
        return list(pages)
    seen = Counter(key for lines in pages for key in {_key(line) for line in _edges(lines)})
    repeated = {key for key, count in seen.items() if count >= len(pages) * _REPEATED_SHARE}
    return [_trimmed(lines, repeated) for lines in pages]


def _lines(runs: list[_Run]) -> list[Line]:
    lines: list[Line] = []
    current: list[_Run] = []
    for run in runs:
        parts = run.text.split("\n")
        for number, part in enumerate(parts):
            if number:
                lines.append(_line(current))
                current = []
            if part:
                current.append(_Run(part, run.size, run.bold, run.x, run.y))
    lines.append(_line(current))
    return lines


def _line_of(runs: list[_Run]) -> Line:
    text = " ".join(clean("".join(run.text for run in runs)).split())
    return Line(text, runs[0].size, all(run.bold for run in runs), runs[0].x, runs[0].y)


def _line(runs: list[_Run]) -> Line:
    text = " ".join(clean("".join(run.text for run in runs)).split())
    inked = [run for run in runs if run.text.strip()]
    if not text or not inked:
        return Line("", 0.0, bold=False)
    widest = max(inked, key=lambda run: len(run.text))
    bold = all(run.bold for run in inked)
    parts = tuple(_line_of(part) for part in _apart(runs))
    marked = len(inked) > 1 and _MARKER.fullmatch(inked[0].text.strip()) is not None
    line = Line(text, widest.size, bold, inked[int(marked)].x, inked[0].y)
    return replace(line, parts=parts) if len(parts) > 1 and not marked else line


def _apart(runs: list[_Run]) -> list[list[_Run]]:
    """Split the runs of a line at gaps wider than a space."""
    parts: list[list[_Run]] = []
    end = 0.0
    for run in (run for run in runs if run.text.strip()):
        width = _width(run)
        if not parts or run.x - end > run.size + _WIDTH_DOUBT * width:
            parts.append([])
        parts[-1].append(run)
        end = max(end, run.x + width)
    return parts


def _width(run: _Run) -> float:
    """Return an estimate of the printed width of a text."""
    narrow = len(_NARROW.findall(run.text))
    wide = len(_WIDE.findall(run.text))
    return run.size * (0.52 * len(run.text) - 0.25 * narrow + 0.18 * wide)


def _with_markers(lines: list[Line]) -> list[Line]:
    """Join list markers that are printed apart to their items."""
    joined: list[Line] = []
    for line in lines:
        last = joined[-1] if joined else None
        if last and line.text and _MARKER.fullmatch(last.text) and _beside(last, line):
            joined[-1] = replace(line, text=f"{last.text} {line.text}")
        else:
            joined.append(line)
    return joined


def _beside(left: Line, right: Line) -> bool:
    if left.y is None or right.y is None:
        return False
    return right.x > left.x and abs(left.y - right.y) < right.size / 2


def _edges(lines: tuple[Line, ...]) -> list[Line]:
    inked = [line for line in lines if line.text]
    if len(inked) <= _EDGE_LINES:
        return inked
    return inked[:_EDGE_LINES] + inked[-_EDGE_LINES:]


def _key(line: Line) -> str:
    return re.sub(r"\d+", "#", line.text)


def _trimmed(lines: tuple[Line, ...], repeated: set[str]) -> tuple[Line, ...]:
    edges = {id(line) for line in _edges(lines)}
    return tuple(line for line in lines if id(line) not in edges or _key(line) not in repeated)


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
    """Return the table that starts at a line, and the line after it; None if there is none."""
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
    """Return the cells beside each other starting at a text, and the position after them."""
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
    """Return the cell that a text continues; a first cell with others beside it starts a row."""
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
    """Return whether a row is aligned with the others: first cell, and another one or all."""
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
    """Return a row's texts by column; right-aligned numbers may start anywhere."""
    texts = [" ".join(cell.texts) for cell in row]
    if len(row) == len(columns):
        return tuple(texts)
    placed = [""] * len(columns)
    for cell, text in zip(row, texts, strict=True):
        nearest = min(range(len(columns)), key=lambda number: abs(columns[number] - cell.x))
        placed[nearest] = f"{placed[nearest]} {text}".strip()
    return tuple(placed)

"""The lines of a PDF with size, weight and place; repeated headers and footers taken out."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pypdf import PageObject

from ingestion.text import clean

_EDGE_LINES = 3
_LEAST_PAGES = 3
_REPEATED_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line. ``size`` is in points; ``y`` is the height on the page, or None."""

    text: str
    size: float
    bold: bool
    y: float | None


@dataclass(slots=True)
class _Run:
    text: str
    size: float
    bold: bool
    y: float


def page_lines(page: PageObject) -> tuple[Line, ...]:
    """Return a page's lines in reading order; blank lines are kept as gaps."""
    runs: list[_Run] = []

    def visit(text: str, cm: Any, tm: Any, font: Any, size: float) -> None:  # noqa: ANN401  # pypdf
        scale = math.hypot(tm[0], tm[1]) * math.hypot(cm[0], cm[1])
        height = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        name = str((font or {}).get("/BaseFont", ""))
        runs.append(_Run(text, round(size * scale, 1), "bold" in name.lower(), height))

    page.extract_text(visitor_text=visit)
    return tuple(_lines(runs))


def without_repeats(pages: Sequence[tuple[Line, ...]]) -> list[tuple[Line, ...]]:
    """Drop the lines at the edges that most pages share, page numbers counted as equal."""
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
                current.append(_Run(part, run.size, run.bold, run.y))
    lines.append(_line(current))
    return lines


def _line(runs: list[_Run]) -> Line:
    text = " ".join(clean("".join(run.text for run in runs)).split())
    inked = [run for run in runs if run.text.strip()]
    if not text or not inked:
        return Line("", 0.0, bold=False, y=None)
    widest = max(inked, key=lambda run: len(run.text))
    return Line(text, widest.size, all(run.bold for run in inked), inked[0].y)


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

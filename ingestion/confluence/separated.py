"""Separated values to rows: by the separator under which lines are most alike. Pure.

``csv.Sniffer`` is not asked: of some 64 KB it thinks for half a minute, and holds up all else.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence

_SEPARATORS = ",;\t|"
_HEAD_CHARACTERS = 65536
_LINES = 50


def rows_of(text: str) -> Sequence[tuple[str, ...]] | None:
    """Return the lines that are not blank, as cells; None where no separator parts them."""
    separator = _separator(text)
    if separator is None:
        return None
    try:
        return list(_rows(text, separator))
    except csv.Error:
        return None


def _separator(text: str) -> str | None:
    """Return the separator by which most of the first lines have as many cells as each other."""
    head = text[:_HEAD_CHARACTERS]
    best = max(_SEPARATORS, key=lambda separator: _alike(head, separator))
    return best if _alike(head, best) > (0, 0) else None


def _alike(head: str, separator: str) -> tuple[int, int]:
    """Return how many of the first lines have the width that most have, and that width."""
    widths = Counter[int]()
    try:
        for _, row in zip(range(_LINES), _rows(head, separator), strict=False):
            widths[len(row)] += 1
    except csv.Error:
        return 0, 0
    width, lines = max(widths.items(), key=lambda one: (one[1], one[0]), default=(0, 0))
    return (lines, width) if width > 1 else (0, 0)


def _rows(text: str, separator: str) -> Iterator[tuple[str, ...]]:
    lines = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    for cells in lines:
        row = tuple(cell.strip() for cell in cells)
        if any(row):
            yield row

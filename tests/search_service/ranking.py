"""Reciprocal rank fusion, as measured at the service: the first of a list counts 1/60."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CONSTANT = 60
MOST_TEXT = 1000
"""So many of a hybrid search's text matches take part."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows of one search, best first."""

    rows: Sequence[int]
    weight: float = 1.0


def fused(lists: Sequence[Ranked]) -> dict[int, float]:
    """Return the sum of weighted reciprocal ranks of each row."""
    scores: dict[int, float] = {}
    for each in lists:
        for place, row in enumerate(each.rows):
            scores[row] = scores.get(row, 0.0) + each.weight / (CONSTANT + place)
    return scores


def ordered(scores: Mapping[int, float], keys: Sequence[str]) -> list[int]:
    """Return rows by score, ties by key: the service promises no order of ties, tests need one."""
    return sorted(scores, key=lambda row: (-round(scores[row], 9), keys[row]))

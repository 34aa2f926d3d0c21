"""How good an order is: of pages for a question, and of scores for right and wrong; pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gold:
    """What should be found: every one of ``pages``; one of ``alternatives`` stands in for one."""

    pages: frozenset[str]
    alternatives: frozenset[str] = frozenset()

    @property
    def relevant(self) -> frozenset[str]:
        return self.pages | self.alternatives


def distinct(pages: Iterable[str]) -> tuple[str, ...]:
    """Return the pages in order of their best passage, each once."""
    return tuple(dict.fromkeys(pages))


def hit(pages: Sequence[str], gold: Gold, k: int) -> float:
    """Return 1.0 when a relevant page is among the first ``k``, else 0.0."""
    return float(any(page in gold.relevant for page in pages[:k]))


def recall(pages: Sequence[str], gold: Gold, k: int) -> float:
    """Return the share of the gold pages, or stand-ins for them, among the first ``k``."""
    found = sum(page in gold.relevant for page in pages[:k])
    return min(1.0, found / len(gold.pages))


def ndcg(pages: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Return the normalised discounted cumulative gain of the first ``k``, relevance 0 or 1."""
    gain = sum(
        1 / math.log2(rank + 1) for rank, page in enumerate(pages[:k], 1) if page in relevant
    )
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))
    return gain / ideal if ideal else 0.0


def reciprocal_rank_fusion(rankings: Sequence[Sequence[str]], *, constant: int = 60) -> list[str]:
    """Return the union of rankings by the sum of ``1 / (constant + rank)``; ties as first seen."""
    total: dict[str, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            total[item] = total.get(item, 0.0) + 1 / (constant + rank)
    return sorted(total, key=lambda item: -total[item])


@dataclass(frozen=True, slots=True)
class Pairs:
    """Every pair of a positive and a negative, for AUROCs that can be resampled cheaply.

    ``wins`` is 1 where the positive scores higher, 0.5 on a tie, 0 for pairs that are left out;
    ``counted`` is 0 for these, else 1. Both have shape (positives, negatives).
    """

    wins: Floats
    counted: Floats

    @classmethod
    def of(cls, positives: Sequence[float], negatives: Sequence[float]) -> Pairs:
        difference = np.subtract.outer(np.asarray(positives, float), np.asarray(negatives, float))
        wins = (difference > 0) + 0.5 * (difference == 0)
        return cls(wins.astype(np.float64), np.ones_like(difference))

    def matched(
        self, of_positives: Sequence[int], of_negatives: Sequence[int], tolerance: int = 1
    ) -> Pairs:
        """Count only pairs that are alike in a number (words), give or take ``tolerance``."""
        apart = np.abs(np.subtract.outer(np.asarray(of_positives), np.asarray(of_negatives)))
        counted = self.counted * (apart <= tolerance)
        return Pairs(self.wins * counted, counted)

    def auroc(self, positives: Floats | None = None, negatives: Floats | None = None) -> float:
        """Return the share of counted pairs that are won, weighted; NaN when none is counted."""
        rows = np.ones(self.wins.shape[0]) if positives is None else positives
        columns = np.ones(self.wins.shape[1]) if negatives is None else negatives
        counted = float(rows @ self.counted @ columns)
        won = float(rows @ self.wins @ columns)
        return won / counted if counted else math.nan

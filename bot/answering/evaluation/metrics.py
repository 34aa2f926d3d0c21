"""Metrics of ranking, calibration and abstention, with 95 % intervals; pure.

Intervals are Wilson's for shares of independent questions, bootstrap for all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_Z = 1.959963984540054
_ROUNDS = 1000
_SEED = 20261122


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, its 95 % interval and the number of cases behind it; NaN where there are none."""

    value: float
    low: float
    high: float
    n: int


NO_ESTIMATE = Estimate(math.nan, math.nan, math.nan, 0)


def wilson(successes: int, n: int) -> Estimate:
    """Return a proportion with its Wilson score interval."""
    if n == 0:
        return NO_ESTIMATE
    share = successes / n
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half), n)


def bootstrap(
    groups: Sequence[Hashable], statistic: Callable[[Floats], float], *, rounds: int = _ROUNDS
) -> Estimate:
    """Return a statistic with its bootstrap interval, resampling whole groups of cases.

    Questions on the same page form a group, since they are not independent.

    Args:
        groups: the group of each case.
        statistic: the value, given how often each case was drawn.
        rounds: how many resamples; the seed is fixed, so that reports can be compared.
    """
    if not groups:
        return NO_ESTIMATE
    names = {name: number for number, name in enumerate(dict.fromkeys(groups))}
    member = np.array([names[group] for group in groups])
    generator = np.random.default_rng(_SEED)
    drawn = []
    for _ in range(rounds):
        times = np.bincount(generator.integers(len(names), size=len(names)), minlength=len(names))
        drawn.append(statistic(times[member].astype(np.float64)))
    low, high = _quantiles(drawn)
    return Estimate(statistic(np.ones(len(groups))), low, high, len(groups))


def mean(values: Sequence[float], groups: Sequence[Hashable]) -> Estimate:
    """Return a mean with its bootstrap interval over groups."""
    cases = np.asarray(values, dtype=np.float64)

    def weighted(times: Floats) -> float:
        return float(times @ cases / times.sum()) if times.sum() else math.nan

    return bootstrap(groups, weighted)


def _quantiles(drawn: Sequence[float]) -> tuple[float, float]:
    finite = [value for value in drawn if not math.isnan(value)]
    if not finite:
        return math.nan, math.nan
    low, high = np.quantile(finite, (0.025, 0.975))
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Gold:
    """The relevant pages: all of ``pages``; one of ``alternatives`` can substitute for one."""

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
    """Return the share of the gold pages, or substitutes for them, among the first ``k``."""
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
    """All pairs of a positive and a negative, for AUROCs that are cheap to resample.

    ``wins`` is 1 where the positive scores higher, 0.5 on a tie, 0 for excluded pairs; ``counted``
    is 0 for these, else 1. Both have shape (positives, negatives).
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
        """Count only pairs whose values (word counts) differ by at most ``tolerance``."""
        apart = np.abs(np.subtract.outer(np.asarray(of_positives), np.asarray(of_negatives)))
        counted = self.counted * (apart <= tolerance)
        return Pairs(self.wins * counted, counted)

    def auroc(self, positives: Floats | None = None, negatives: Floats | None = None) -> float:
        """Return the weighted share of counted pairs that are won; NaN when none is counted."""
        rows = np.ones(self.wins.shape[0]) if positives is None else positives
        columns = np.ones(self.wins.shape[1]) if negatives is None else negatives
        counted = float(rows @ self.counted @ columns)
        won = float(rows @ self.wins @ columns)
        return won / counted if counted else math.nan


_BINS = 15


def brier(probabilities: Sequence[float], labels: Sequence[bool]) -> float:
    """Return the mean squared distance between probability and label; lower is better."""
    if not labels:
        return math.nan
    stated, right = _arrays(probabilities, labels)
    return float(np.mean((stated - right) ** 2))


def debiased_ece(
    probabilities: Sequence[float], labels: Sequence[bool], bins: int = _BINS
) -> float:
    """Return the expected calibration error over bins of equal mass, without its bias.

    In a bin of n answers the squared gap between mean probability and share of right ones is too
    large by the variance of that share, on average ``share * (1 - share) / (n - 1)``; that is
    subtracted before the root (the l2 error of Kumar, Liang and Ma, 2019). 0 when chance explains
    all of it.
    """
    if len(labels) < 2 * bins:
        bins = max(1, len(labels) // 2)
    if not labels:
        return math.nan
    stated, right = _arrays(probabilities, labels)
    order = np.argsort(stated, kind="stable")
    total = 0.0
    for part in np.array_split(order, bins):
        share = float(right[part].mean())
        gap = (float(stated[part].mean()) - share) ** 2
        by_chance = share * (1 - share) / (len(part) - 1) if len(part) > 1 else 0.0
        total += len(part) / len(labels) * (gap - by_chance)
    return math.sqrt(max(0.0, total))


def aurc(probabilities: Sequence[float], labels: Sequence[bool]) -> float:
    """Return the area under the risk-coverage curve: mean error over all coverages."""
    if not labels:
        return math.nan
    return float(np.mean(risks(probabilities, labels)))


def coverage_at(error: float, probabilities: Sequence[float], labels: Sequence[bool]) -> float:
    """Return the largest share that can be answered with at most ``error`` wrong, in hindsight.

    Equal probabilities are answered together or not at all. The threshold is chosen on the same
    questions, so the result is optimistic; a guarantee needs a certificate.
    """
    if not labels:
        return math.nan
    stated = np.sort(np.asarray(probabilities, dtype=np.float64))[::-1]
    found = risks(probabilities, labels)
    last_of_ties = np.append(stated[1:] != stated[:-1], True)
    fine = np.flatnonzero((found <= error) & last_of_ties)
    return float((fine[-1] + 1) / len(labels)) if fine.size else 0.0


def risks(probabilities: Sequence[float], labels: Sequence[bool]) -> Floats:
    """Return the error rate among the n most probable answers, for every n from 1.

    Ties share their mean.
    """
    stated, right = _arrays(probabilities, labels)
    order = np.argsort(-stated, kind="stable")
    wrong = 1 - right[order]
    for value in np.unique(stated):
        same = stated[order] == value
        wrong[same] = wrong[same].mean()
    return np.asarray(np.cumsum(wrong) / np.arange(1, len(labels) + 1), dtype=np.float64)


def reliability(
    probabilities: Sequence[float], labels: Sequence[bool], bins: int = 10
) -> list[tuple[float, float]]:
    """Return mean probability and share of right answers in each of ``bins`` of equal mass."""
    stated, right = _arrays(probabilities, labels)
    parts = np.array_split(np.argsort(stated, kind="stable"), min(bins, len(labels)) or 1)
    return [(float(stated[part].mean()), float(right[part].mean())) for part in parts if part.size]


def _arrays(probabilities: Sequence[float], labels: Sequence[bool]) -> tuple[Floats, Floats]:
    return np.asarray(probabilities, dtype=np.float64), np.asarray(labels, dtype=np.float64)

"""Whether a probability means what it says, and what it is worth to abstain by it; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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
    """Return the expected calibration error over bins of equal mass, less what chance adds.

    In a bin of n answers the squared gap between mean probability and share of right ones is too
    large by the variance of that share, on average ``share * (1 - share) / (n - 1)``; that is
    taken off before the root (the l2 error of Kumar, Liang and Ma, 2019). 0 when chance explains
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

    Equal probabilities are answered together or not at all. This reads the best threshold off the
    same questions, so that it flatters; a promise needs a certificate.
    """
    if not labels:
        return math.nan
    stated = np.sort(np.asarray(probabilities, dtype=np.float64))[::-1]
    found = risks(probabilities, labels)
    last_of_ties = np.append(stated[1:] != stated[:-1], True)
    fine = np.flatnonzero((found <= error) & last_of_ties)
    return float((fine[-1] + 1) / len(labels)) if fine.size else 0.0


def risks(probabilities: Sequence[float], labels: Sequence[bool]) -> Floats:
    """Return the share of wrong ones among the n most probable, for every n from 1.

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
    """Return mean probability and share of right ones in each of ``bins`` of equal mass."""
    stated, right = _arrays(probabilities, labels)
    parts = np.array_split(np.argsort(stated, kind="stable"), min(bins, len(labels)) or 1)
    return [(float(stated[part].mean()), float(right[part].mean())) for part in parts if part.size]


def _arrays(probabilities: Sequence[float], labels: Sequence[bool]) -> tuple[Floats, Floats]:
    return np.asarray(probabilities, dtype=np.float64), np.asarray(labels, dtype=np.float64)

"""95 % intervals: Wilson for shares of independent questions, bootstrap for the rest; pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_Z = 1.959963984540054
_ROUNDS = 1000
_SEED = 20261122


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, its 95 % interval and the number of cases behind it; NaN where there are none."""

    value: float
    low: float
    high: float
    n: int


NOTHING = Estimate(math.nan, math.nan, math.nan, 0)


def wilson(successes: int, n: int) -> Estimate:
    """Return a share with its Wilson score interval."""
    if n == 0:
        return NOTHING
    share = successes / n
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half), n)


def bootstrap(
    groups: Sequence[Hashable], statistic: Callable[[Floats], float], *, rounds: int = _ROUNDS
) -> Estimate:
    """Resample whole groups (questions on the same page stay together).

    Args:
        groups: the group of each case.
        statistic: the figure, given how often each case was drawn.
        rounds: how many resamples; the seed is fixed, so that reports can be compared.
    """
    if not groups:
        return NOTHING
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

"""How well the gate's probability, and simpler scores, tell right from wrong; pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bot.evaluating.asking import Case
from bot.evaluating.report import Figure, Gating, Separation
from bot.evaluating.slices import figure
from rag.evaluation.metrics import (
    Floats,
    Pairs,
    aurc,
    bootstrap,
    brier,
    coverage_at,
    debiased_ece,
    wilson,
)

ERRORS = (0.05, 0.1, 0.2)
"""Shares of wrong answers that are allowed when coverage is read off."""

SCORES: Mapping[str, Callable[[Case], float]] = {
    "gate": lambda case: case.confidence or 0.0,
    "keyword": lambda case: case.keyword,
    "vector": lambda case: case.vector,
    "length": lambda case: float(case.row.words),
}

_MIXED = frozenset({"answerable", "multi_turn", "near_miss", "far"})


def gating(cases: Sequence[Case]) -> Gating:
    """Return separation by kind, and calibration over answerable, near-miss and far questions."""
    reached = [case for case in cases if case.reached_index]
    mixed = [case for case in reached if not case.withheld and case.kind in _MIXED]
    return Gating(
        separation=_separations(reached),
        ece=_over(mixed, debiased_ece),
        brier=_over(mixed, brier),
        aurc=_over(mixed, aurc),
        coverage={f"{error:.0%}": _over(mixed, _coverage(error)) for error in ERRORS},
        share_right=figure(wilson(sum(case.right for case in mixed), len(mixed))),
    )


def compared(cases: Sequence[Case]) -> dict[str, tuple[list[Case], list[Case]]]:
    """Return, by what is to be told apart, the questions that should score high and the others.

    ``all`` holds right answers against everything else. Only questions that reached the index
    count, and only pairs with both sides are there.
    """
    reached = [case for case in cases if case.reached_index]
    asked = [case for case in reached if not case.withheld]
    answerable = [case for case in asked if case.row.has_answer]
    pairs = {
        "far": (answerable, [case for case in asked if case.kind == "far"]),
        "near_miss": (answerable, [case for case in asked if case.kind == "near_miss"]),
        "withheld": (answerable, [case for case in reached if case.withheld]),
        "wrong_answer": (
            [case for case in answerable if case.right],
            [case for case in answerable if not case.right],
        ),
        "all": (
            [case for case in reached if case.right],
            [case for case in reached if not case.right],
        ),
    }
    return {kind: (ours, others) for kind, (ours, others) in pairs.items() if ours and others}


def _separations(reached: Sequence[Case]) -> dict[str, dict[str, Separation]]:
    return {
        kind: {name: _separation(ours, others, score) for name, score in SCORES.items()}
        for kind, (ours, others) in compared(reached).items()
    }


def _separation(
    ours: Sequence[Case], others: Sequence[Case], score: Callable[[Case], float]
) -> Separation:
    pairs = Pairs.of([score(case) for case in ours], [score(case) for case in others])
    matched = pairs.matched([case.row.words for case in ours], [c.row.words for c in others])
    return Separation(plain=_auroc(pairs, ours, others), matched=_auroc(matched, ours, others))


def _auroc(pairs: Pairs, ours: Sequence[Case], others: Sequence[Case]) -> Figure:
    """Resample pages: questions on the same page, withheld ones too, are drawn together."""
    groups = [case.row.group for case in (*ours, *others)]

    def statistic(times: Floats) -> float:
        return pairs.auroc(times[: len(ours)], times[len(ours) :])

    return figure(bootstrap(groups, statistic, rounds=500))


def _over(
    cases: Sequence[Case], measure: Callable[[Sequence[float], Sequence[bool]], float]
) -> Figure:
    stated = np.array([case.confidence or 0.0 for case in cases])
    right = np.array([case.right for case in cases])

    def statistic(times: Floats) -> float:
        drawn = np.repeat(np.arange(len(cases)), times.astype(int))
        if not drawn.size:
            return math.nan
        return measure(stated[drawn].tolist(), right[drawn].tolist())

    return figure(bootstrap([case.row.group for case in cases], statistic, rounds=200))


def _coverage(error: float) -> Callable[[Sequence[float], Sequence[bool]], float]:
    def measure(stated: Sequence[float], right: Sequence[bool]) -> float:
        return coverage_at(error, stated, right)

    return measure

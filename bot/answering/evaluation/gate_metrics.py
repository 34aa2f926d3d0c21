"""Measure how well the gate, and single features, separate right answers from wrong ones; pure.

The feature that the gate is compared with is chosen on the training sets and then held fixed, so
that it is not the lucky one of many on the set that it is compared on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from bot.answering.evaluation.metrics import (
    Floats,
    Pairs,
    aurc,
    bootstrap,
    brier,
    coverage_at,
    debiased_ece,
    wilson,
)
from bot.answering.evaluation.question_cases import Case
from bot.answering.evaluation.question_metrics import figure
from bot.answering.evaluation.report import Comparison, Figure, Gating, Separation
from bot.answering.evaluation.training_samples import CasesBySet

ERRORS = (0.05, 0.1, 0.2)
"""Error rates among the given answers at which coverage is reported."""

SCORES: Mapping[str, Callable[[Case], float]] = {
    "gate": lambda case: case.confidence or 0.0,
    "keyword": lambda case: case.keyword,
    "vector": lambda case: case.vector,
    "length": lambda case: float(case.row.words),
}

_MIXED = frozenset({"answerable", "multi_turn", "near_miss", "far"})


def gating_figures(cases: Sequence[Case]) -> Gating:
    """Return separation by kind, and calibration over answerable, near-miss and far questions.

    Answerable questions include follow-ups here.
    """
    reached = [case for case in cases if case.reached_index]
    mixed = [case for case in reached if not case.withheld and case.kind in _MIXED]
    return Gating(
        separation=_separations(reached),
        ece=_bootstrapped(mixed, debiased_ece),
        brier=_bootstrapped(mixed, brier),
        aurc=_bootstrapped(mixed, aurc),
        coverage={
            f"{error:.0%}": _bootstrapped(mixed, partial(coverage_at, error)) for error in ERRORS
        },
        share_right=figure(wilson(sum(case.right for case in mixed), len(mixed))),
    )


def compared_groups(cases: Sequence[Case]) -> dict[str, tuple[list[Case], list[Case]]]:
    """Return, for each comparison, the questions that should score high and the others.

    ``all`` compares right answers with everything else. Only questions that reached the index
    count; a comparison with an empty side is left out.
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
        for kind, (ours, others) in compared_groups(reached).items()
    }


def _separation(
    ours: Sequence[Case], others: Sequence[Case], score: Callable[[Case], float]
) -> Separation:
    pairs = Pairs.of([score(case) for case in ours], [score(case) for case in others])
    matched = pairs.matched([case.row.words for case in ours], [c.row.words for c in others])
    return Separation(plain=_auroc(pairs, ours, others), matched=_auroc(matched, ours, others))


def _auroc(pairs: Pairs, ours: Sequence[Case], others: Sequence[Case]) -> Figure:
    """Return the AUROC with a bootstrap interval that resamples pages.

    Questions on the same page, withheld ones too, are drawn together.
    """
    groups = [case.row.group for case in (*ours, *others)]

    def statistic(times: Floats) -> float:
        return pairs.auroc(times[: len(ours)], times[len(ours) :])

    return figure(bootstrap(groups, statistic, rounds=500))


def _bootstrapped(
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


POOLED = "pooled"

LEAST_QUESTIONS = 10

Score = Callable[[Case], float | None]


def best_features(training: CasesBySet, signs: Mapping[str, int]) -> dict[str, str]:
    """Return for each comparison the feature with the best AUROC on the pooled training sets.

    Args:
        training: the cases of each training set.
        signs: the features to choose from; 1 if a higher value speaks for an answer, else -1.
    """
    pooled = [case for _, cases in training for case in cases]
    found = {}
    for against, (ours, others) in compared_groups(pooled).items():
        orders = {
            name: _pairs(ours, others, _feature_score(name, sign)) for name, sign in signs.items()
        }
        found[against] = max(orders, key=lambda name: orders[name].auroc())
    return found


def comparisons(
    asked: CasesBySet, chosen: Mapping[str, str], signs: Mapping[str, int]
) -> dict[str, list[Comparison]]:
    """Return the AUROC of the gate and of the chosen features, by set and for all sets pooled.

    Questions on one page stay together in the bootstrap, and both scores are resampled alike. A
    comparison with fewer than LEAST_QUESTIONS on either side is left out as meaningless.
    """
    pooled = [case for _, cases in asked for case in cases]
    every = [*asked, (POOLED, pooled)] if len(asked) > 1 else asked
    return {
        name: [
            _comparison(against, ours, others, chosen[against], signs)
            for against, (ours, others) in compared_groups(cases).items()
            if against in chosen and min(len(ours), len(others)) >= LEAST_QUESTIONS
        ]
        for name, cases in every
    }


def _comparison(
    against: str,
    ours: Sequence[Case],
    others: Sequence[Case],
    feature: str,
    signs: Mapping[str, int],
) -> Comparison:
    gate = _pairs(ours, others, lambda case: case.confidence)
    single = _pairs(ours, others, _feature_score(feature, signs[feature]))
    groups = [case.row.group for case in (*ours, *others)]
    n = len(ours)

    def difference(times: Floats) -> float:
        drawn = times[:n], times[n:]
        return gate.auroc(*drawn) - single.auroc(*drawn)

    return Comparison(
        against=against,
        feature=feature,
        gate=figure(bootstrap(groups, lambda times: gate.auroc(times[:n], times[n:]), rounds=500)),
        single=figure(
            bootstrap(groups, lambda times: single.auroc(times[:n], times[n:]), rounds=500)
        ),
        difference=figure(bootstrap(groups, difference, rounds=500)),
    )


def _feature_score(name: str, sign: int) -> Score:
    def score(case: Case) -> float | None:
        value = case.features.get(name)
        return None if value is None else sign * value

    return score


def _pairs(ours: Sequence[Case], others: Sequence[Case], score: Score) -> Pairs:
    """Return all pairs of both sides; an absent score ranks below every other."""
    values = [score(case) for case in (*ours, *others)]
    below = min((value for value in values if value is not None), default=0.0) - 1
    filled = np.array([below if value is None else value for value in values])
    return Pairs.of(filled[: len(ours)].tolist(), filled[len(ours) :].tolist())

"""The gate's order against the best single feature, on the same questions; pure.

The feature is chosen on the training sets and then held fixed, so that it is not the lucky one of
many on the set that it is compared on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bot.evaluating.asking import Case
from bot.evaluating.gating import compared
from bot.evaluating.report import Comparison
from bot.evaluating.samples import Asked
from bot.evaluating.slices import figure
from rag.evaluation.metrics import Floats, Pairs, bootstrap

POOLED = "pooled"

LEAST_QUESTIONS = 10

Score = Callable[[Case], float | None]


def best_features(training: Asked, signs: Mapping[str, int]) -> dict[str, str]:
    """Return which feature alone tells most apart on the training sets together.

    Args:
        training: the cases of each training set.
        signs: the features to choose from, and whether a higher value speaks for an answer.
    """
    pooled = [case for _, cases in training for case in cases]
    found = {}
    for against, (ours, others) in compared(pooled).items():
        orders = {name: _pairs(ours, others, _feature(name, sign)) for name, sign in signs.items()}
        found[against] = max(orders, key=lambda name: orders[name].auroc())
    return found


def comparisons(
    asked: Asked, chosen: Mapping[str, str], signs: Mapping[str, int]
) -> dict[str, list[Comparison]]:
    """Return, by set and for all of them pooled, how the gate and the chosen feature order.

    Questions on one page stay together in the bootstrap, and both orders are resampled alike.
    What has fewer than LEAST_QUESTIONS on either side is left out: it says nothing.
    """
    pooled = [case for _, cases in asked for case in cases]
    every = [*asked, (POOLED, pooled)] if len(asked) > 1 else asked
    return {
        name: [
            _comparison(against, ours, others, chosen[against], signs)
            for against, (ours, others) in compared(cases).items()
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
    single = _pairs(ours, others, _feature(feature, signs[feature]))
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


def _feature(name: str, sign: int) -> Score:
    def score(case: Case) -> float | None:
        value = case.features.get(name)
        return None if value is None else sign * value

    return score


def _pairs(ours: Sequence[Case], others: Sequence[Case], score: Score) -> Pairs:
    """Compare every pair; where a score is absent nothing speaks for the answer."""
    values = [score(case) for case in (*ours, *others)]
    below = min((value for value in values if value is not None), default=0.0) - 1
    filled = np.array([below if value is None else value for value in values])
    return Pairs.of(filled[: len(ours)].tolist(), filled[len(ours) :].tolist())

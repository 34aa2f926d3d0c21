from __future__ import annotations

import pytest

from bot.answering.evaluation.gate_metrics import POOLED, best_features, comparisons
from bot.answering.evaluation.question_cases import Case
from tests.bot.evaluating.cases import RIGHT, WRONG, case, numbered

SIGNS = {"vector_best": 1, "pages_close": -1}


def asked(n: int, *, right: bool, confidence: float, **features: float) -> Case:
    verdict = RIGHT if right else WRONG
    return numbered(case(confidence=confidence, verdict=verdict, features=features), n)


TRAINING = [
    asked(1, right=True, confidence=0.9, vector_best=0.2, pages_close=0.1),
    asked(2, right=False, confidence=0.1, vector_best=0.8, pages_close=0.9),
]


def test_the_feature_is_the_one_that_orders_the_training_sets_best() -> None:
    training = [("a", [TRAINING[0]]), ("b", [TRAINING[1]])]

    assert best_features(training, SIGNS)["all"] == "pages_close"
    backwards = {"vector_best": -1, "pages_close": 1}
    assert best_features(training, backwards)["all"] == "vector_best"


def test_the_difference_is_paired_and_pooled_over_sets() -> None:
    right = [asked(n, right=True, confidence=0.9, vector_best=0.5) for n in range(20)]
    wrong = [asked(n, right=False, confidence=0.9 - n / 50) for n in range(20, 40)]

    found = comparisons([("a", [*right, *wrong]), ("b", TRAINING)], {"all": "vector_best"}, SIGNS)

    (of_a,), (pooled,) = found["a"], found[POOLED]
    assert of_a.difference.value == pytest.approx((of_a.gate.value or 0) - (of_a.single.value or 0))
    assert of_a.single.value == 1.0
    assert pooled.gate.n == 42
    assert found["b"] == [], "one question on either side says nothing"

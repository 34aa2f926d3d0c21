from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.evaluation.metrics import aurc, brier, coverage_at, debiased_ece

stated = st.lists(st.tuples(st.sampled_from([0.1, 0.4, 0.9]), st.booleans()), min_size=1)


def test_the_brier_score_by_hand() -> None:
    assert math.isclose(brier([0.8, 0.3], [True, False]), (0.04 + 0.09) / 2)


@given(stated)
@settings(deadline=None)  # the oracle takes seconds to load
def test_the_brier_score_agrees_with_scikit_learn(answers: list[tuple[float, bool]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="an oracle of requirements-evals.txt")
    probabilities, labels = zip(*answers, strict=True)

    expected = metrics.brier_score_loss(labels, probabilities, labels=[False, True])

    assert math.isclose(brier(probabilities, labels), expected)


def test_a_calibrated_probability_has_next_to_no_debiased_error() -> None:
    generator = np.random.default_rng(5)
    probabilities = generator.uniform(0, 1, 3000)
    labels = generator.uniform(0, 1, 3000) < probabilities

    assert debiased_ece(probabilities.tolist(), labels.tolist()) < 0.03


def test_overconfidence_is_seen_in_full() -> None:
    assert math.isclose(debiased_ece([0.9] * 1000, [True, False] * 500), 0.4, abs_tol=0.01)


def test_the_area_under_risk_and_coverage_by_hand() -> None:
    assert math.isclose(aurc([0.9, 0.8, 0.7], [True, False, True]), (0 + 1 / 2 + 1 / 3) / 3)


def test_equal_probabilities_share_their_risk_whatever_their_order() -> None:
    assert aurc([0.5, 0.5], [True, False]) == aurc([0.5, 0.5], [False, True]) == 0.5


def test_coverage_is_the_largest_share_within_the_error() -> None:
    probabilities, labels = [0.9, 0.8, 0.7, 0.6], [True, True, False, True]

    assert coverage_at(0.05, probabilities, labels) == 0.5
    assert coverage_at(0.25, probabilities, labels) == 1.0
    assert coverage_at(0.05, [0.9], [False]) == 0.0


def test_ties_are_answered_together_or_not_at_all() -> None:
    assert coverage_at(0.1, [0.9, 0.9], [True, False]) == 0.0


def test_nothing_answered_gives_no_figure() -> None:
    assert all(
        math.isnan(found)
        for found in (brier([], []), aurc([], []), debiased_ece([], []), coverage_at(0.1, [], []))
    )

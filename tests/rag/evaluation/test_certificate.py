from __future__ import annotations

import math

import numpy as np
import pytest

from rag.evaluation.certificate import FIRST_STEP, certify, held_out, upper_bound


@pytest.mark.parametrize(("wrong", "n"), [(0, 59), (1, 93), (2, 124), (3, 153), (10, 336)])
def test_the_bound_matches_the_published_counts(wrong: int, n: int) -> None:
    """So many errors among so many accepted certify 5 % at 95 %; one answer fewer does not."""
    assert upper_bound(wrong, n, 0.95) <= 0.05 < upper_bound(wrong, n - 1, 0.95)


def test_the_bound_by_hand() -> None:
    assert math.isclose(upper_bound(0, 10, 0.9), 1 - 0.1**0.1, abs_tol=1e-9)
    assert upper_bound(0, 0, 0.9) == 1.0
    assert upper_bound(5, 5, 0.9) == 1.0


@pytest.mark.parametrize(("wrong", "n"), [(0, 1), (3, 20), (50, 400), (399, 400)])
def test_the_bound_agrees_with_the_beta_quantile(wrong: int, n: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="an oracle of requirements-evals.txt")

    assert math.isclose(upper_bound(wrong, n, 0.9), stats.beta.ppf(0.9, wrong + 1, n - wrong))


def test_too_few_labels_certify_nothing() -> None:
    assert certify([0.9] * (FIRST_STEP - 1), [True] * (FIRST_STEP - 1)) is None
    assert certify([], []) is None


def test_errors_at_the_top_certify_nothing_however_good_the_rest() -> None:
    labels = [False] * 10 + [True] * 1000

    assert certify([1 - n / 2000 for n in range(1010)], labels) is None


def test_the_loosest_threshold_before_the_first_failure_is_certified() -> None:
    scores = [1 - n / 1000 for n in range(400)]
    labels = [True] * 200 + [False] * 200

    found = certify(scores, labels)

    assert found is not None
    assert 200 <= found.accepted < 220
    assert found.threshold == scores[found.accepted - 1]
    assert found.wrong == found.accepted - 200
    assert found.coverage == found.accepted / 400


def test_equal_scores_are_accepted_together() -> None:
    found = certify([0.9] * 100 + [0.1] * 100, [True] * 100 + [False] * 100)

    assert found is not None
    assert found.accepted == 100
    assert sum(score >= found.threshold for score in [0.9] * 100 + [0.1] * 100) == 100


def test_the_promise_is_broken_less_often_than_its_confidence_allows() -> None:
    generator = np.random.default_rng(11)
    broken = 0
    for _ in range(200):
        scores = generator.uniform(0, 1, 300)
        labels = generator.uniform(0, 1, 300) < 0.6 + 0.4 * scores
        found = certify(scores.tolist(), labels.tolist())
        if found is not None:
            true_error = 0.4 * (1 - (1 + found.threshold) / 2)
            broken += true_error > 0.05
    assert broken <= 0.15 * 200


def test_mapie_agrees_on_what_can_be_certified() -> None:
    """MAPIE tests the same thresholds in the same order by a binomial bound of its own."""
    control = pytest.importorskip(
        "mapie.risk_control", reason="an oracle of requirements-evals.txt"
    )
    scores = np.linspace(1, 0, 600)
    labels = np.array([int(n < 150 or n % 4 != 0) for n in range(600)])
    ours = certify(scores.tolist(), labels.astype(bool).tolist())
    thresholds = np.array([scores[n - 1] for n in range(FIRST_STEP, 600, 10)])
    controller = control.BinaryClassificationController(
        predict_function=lambda x: np.column_stack([1 - x[:, 0], x[:, 0]]),
        risk="precision",
        target_level=0.95,
        confidence_level=0.9,
        list_predict_params=thresholds,
        fwer_method="fixed_sequence",
    )

    controller.calibrate(scores.reshape(-1, 1), labels)

    assert ours is not None
    accepted = int((scores >= min(controller.valid_predict_params)).sum())
    assert abs(accepted - ours.accepted) <= 10


def test_a_threshold_chosen_on_one_half_is_bounded_on_the_other() -> None:
    choosing = [(0.9, True)] * 40 + [(0.5, True)] * 20 + [(0.5, False)] * 20
    judging = [(0.95, True)] * 44 + [(0.92, False), (0.1, False)]

    found = held_out(choosing, judging)

    assert found is not None
    assert (found.threshold, found.accepted, found.wrong) == (0.9, 45, 1)
    assert found.bound == upper_bound(1, 45, 0.9)


def test_a_half_that_is_wrong_at_its_surest_chooses_no_threshold() -> None:
    assert held_out([(0.9, False), (0.8, True)], [(0.9, True)]) is None

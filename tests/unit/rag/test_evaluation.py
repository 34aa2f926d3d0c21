"""Metrics of rankings and probabilities, their intervals, and certificates of error rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.evaluation.certificate import FIRST_STEP, certify, held_out, upper_bound
from rag.evaluation.metrics import (
    Gold,
    Pairs,
    aurc,
    bootstrap,
    brier,
    coverage_at,
    debiased_ece,
    distinct,
    hit,
    mean,
    ndcg,
    recall,
    reciprocal_rank_fusion,
    wilson,
)

TWO = Gold(frozenset({"a", "b"}), frozenset({"c"}))


def test_a_page_counts_once_where_it_is_first() -> None:
    assert distinct(["b", "a", "b", "c"]) == ("b", "a", "c")


def test_a_hit_is_a_gold_page_or_a_stand_in_among_the_first() -> None:
    assert hit(["x", "c"], TWO, 2) == 1.0
    assert hit(["x", "c"], TWO, 1) == 0.0


def test_recall_counts_gold_pages_and_lets_stand_ins_fill_in_but_not_exceed() -> None:
    assert recall(["a", "x"], TWO, 5) == 0.5
    assert recall(["a", "c"], TWO, 5) == 1.0
    assert recall(["a", "b", "c"], TWO, 5) == 1.0
    assert recall(["x", "a"], TWO, 1) == 0.0


def test_ndcg_by_hand() -> None:
    assert math.isclose(ndcg(["x", "a"], {"a"}, 10), 1 / math.log2(3))
    assert math.isclose(ndcg(["a", "x", "b"], {"a", "b"}, 10), 1.5 / (1 + 1 / math.log2(3)))
    assert ndcg(["a"], set(), 10) == 0.0


PAGE_NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1)


@given(ranked=PAGE_NAMES, relevant=st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_ndcg_agrees_with_ir_measures(ranked: list[str], relevant: set[str]) -> None:
    ir = pytest.importorskip("ir_measures", reason="an oracle of requirements-evals.txt")
    run = [ir.ScoredDoc("q", page, -rank) for rank, page in enumerate(ranked)]
    qrels = [ir.Qrel("q", page, 1) for page in relevant]

    expected = ir.calc_aggregate([ir.nDCG @ 10], qrels, run)[ir.nDCG @ 10]

    assert math.isclose(ndcg(ranked, relevant, 10), expected, abs_tol=1e-9)


def test_reciprocal_ranks_add_up() -> None:
    assert reciprocal_rank_fusion([["a", "b"], ["b", "c"]]) == ["b", "a", "c"]


def test_auroc_by_hand_with_a_tie() -> None:
    assert Pairs.of([0.9, 0.5], [0.5, 0.1]).auroc() == (1 + 1 + 0.5 + 1) / 4


def test_auroc_of_nothing_can_not_be_told() -> None:
    assert math.isnan(Pairs.of([], [0.5]).auroc())
    assert math.isnan(Pairs.of([0.9], [0.5]).matched([3], [9]).auroc())


def test_matching_compares_only_questions_of_about_the_same_length() -> None:
    pairs = Pairs.of([0.9, 0.1], [0.5, 0.2]).matched([10, 5], [11, 4])

    assert pairs.auroc() == 0.5


def test_a_score_that_is_the_length_itself_is_worth_little_at_equal_length() -> None:
    generator = np.random.default_rng(1)
    long, short = generator.integers(5, 30, 300), generator.integers(2, 20, 300)
    pairs = Pairs.of(long.tolist(), short.tolist())

    assert pairs.auroc() > 0.75
    assert abs(pairs.matched(long.tolist(), short.tolist()).auroc() - 0.5) < 0.05


FEW_SCORES = st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9]), min_size=1, max_size=20)


@given(positives=FEW_SCORES, negatives=FEW_SCORES)
def test_auroc_agrees_with_scikit_learn(positives: list[float], negatives: list[float]) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="an oracle of requirements-evals.txt")
    labels = [1] * len(positives) + [0] * len(negatives)

    expected = metrics.roc_auc_score(labels, positives + negatives)

    assert math.isclose(Pairs.of(positives, negatives).auroc(), expected)


def test_drawing_a_question_twice_counts_it_twice() -> None:
    pairs = Pairs.of([0.9, 0.1], [0.5])

    assert pairs.auroc(np.array([2.0, 1.0]), np.array([1.0])) == 2 / 3


STATED_PROBABILITIES = st.lists(
    st.tuples(st.sampled_from([0.1, 0.4, 0.9]), st.booleans()), min_size=1
)


def test_the_brier_score_by_hand() -> None:
    assert math.isclose(brier([0.8, 0.3], [True, False]), (0.04 + 0.09) / 2)


@given(STATED_PROBABILITIES)
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


def test_wilson_by_hand() -> None:
    found = wilson(8, 10)

    assert found.value == 0.8
    assert math.isclose(found.low, 0.4902, abs_tol=1e-4)
    assert math.isclose(found.high, 0.9433, abs_tol=1e-4)


def test_wilson_at_the_ends_stays_within_bounds() -> None:
    assert math.isclose(wilson(10, 10).high, 1.0)
    assert wilson(10, 10).low < 1.0
    assert math.isnan(wilson(0, 0).value)


def test_the_interval_of_a_mean_holds_the_mean_and_repeats_exactly() -> None:
    values = np.random.default_rng(3).normal(0.7, 0.2, 200).tolist()
    groups = list(range(200))
    found = mean(values, groups)

    assert found.low < found.value < found.high
    assert math.isclose(found.high - found.low, 2 * 1.96 * 0.2 / math.sqrt(200), rel_tol=0.25)
    assert mean(values, groups) == found


def test_questions_on_one_page_are_drawn_together_and_widen_the_interval() -> None:
    values = [1.0] * 50 + [0.0] * 50
    apart = mean(values, list(range(100)))
    together = mean(values, [n // 25 for n in range(100)])

    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_a_statistic_that_cannot_always_be_told_leaves_those_draws_out() -> None:
    found = bootstrap([1, 2], lambda times: math.nan if times[0] == 0 else 1.0)

    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_no_cases_give_no_figure() -> None:
    assert math.isnan(mean([], []).value)


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

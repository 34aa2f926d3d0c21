from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.evaluation.metrics import Gold, Pairs, distinct, hit, ndcg, recall, reciprocal_rank_fusion

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


pages = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1)


@given(ranked=pages, relevant=st.sets(st.sampled_from("abcdefgh"), min_size=1))
@settings(deadline=None)  # the oracle takes seconds to load
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


scores = st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9]), min_size=1, max_size=20)


@given(positives=scores, negatives=scores)
@settings(deadline=None)  # the oracle takes seconds to load
def test_auroc_agrees_with_scikit_learn(positives: list[float], negatives: list[float]) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="an oracle of requirements-evals.txt")
    labels = [1] * len(positives) + [0] * len(negatives)

    expected = metrics.roc_auc_score(labels, positives + negatives)

    assert math.isclose(Pairs.of(positives, negatives).auroc(), expected)


def test_drawing_a_question_twice_counts_it_twice() -> None:
    pairs = Pairs.of([0.9, 0.1], [0.5])

    assert pairs.auroc(np.array([2.0, 1.0]), np.array([1.0])) == 2 / 3

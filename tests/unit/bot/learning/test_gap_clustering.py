"""Tests of grouping questions by meaning."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.learning.gap_clustering import NearestGap, group, inherit
from rag.types import Vectors


def around(topics: int, each: int, *, noise: float = 0.3, seed: int = 1) -> Vectors:
    """Return questions around some topics, in turn."""
    draw = np.random.default_rng(seed)
    middles = draw.standard_normal((topics, 64))
    middles /= np.linalg.norm(middles, axis=1, keepdims=True)
    made = np.repeat(middles, each, axis=0)
    made += noise * draw.standard_normal(made.shape) / np.sqrt(made.shape[1])
    unit: Vectors = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    return unit


def by_the_book(vectors: Vectors, near: float) -> list[int]:
    """Average linkage as it is defined: merge the nearest pair until none is near."""
    groups = [[n] for n in range(len(vectors))]
    cosines = vectors.astype(float) @ vectors.T.astype(float)
    while len(groups) > 1:
        means = {
            (a, b): cosines[np.ix_(groups[a], groups[b])].mean()
            for a in range(len(groups))
            for b in range(a)
        }
        (a, b), best = max(means.items(), key=lambda each: each[1])
        if best < near:
            break
        groups[b] += groups.pop(a)
    labels = [0] * len(vectors)
    for number, members in enumerate(groups):
        for each in members:
            labels[each] = number
    return labels


def partition(labels: object) -> set[frozenset[int]]:
    members: dict[int, set[int]] = {}
    for place, label in enumerate(np.asarray(labels)):
        members.setdefault(int(label), set()).add(place)
    return {frozenset(each) for each in members.values()}


def test_questions_of_one_topic_are_one_group() -> None:
    found = partition(group(around(6, 5)))

    assert found == {frozenset(range(n, n + 5)) for n in range(0, 30, 5)}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), near=st.sampled_from([0.2, 0.35, 0.5, 0.7]))
def test_rounds_find_the_groups_of_average_linkage(seed: int, near: float) -> None:
    vectors = around(5, 6, noise=1.2, seed=seed)

    assert partition(group(vectors, near)) == partition(by_the_book(vectors, near))


def test_the_same_words_many_times_are_one_group() -> None:
    vectors = np.repeat(around(3, 1), 40, axis=0)

    assert len(partition(group(vectors))) == 3
    assert not len(group(vectors[:0]))


def test_grouping_keeps_no_matrix_of_pairs() -> None:
    vectors = around(400, 10, noise=0.8)
    tracemalloc.start()
    try:
        group(vectors)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < len(vectors) ** 2 * vectors.itemsize


def test_a_new_question_goes_to_the_nearest_gap_if_one_is_near() -> None:
    vectors = around(4, 3)
    gaps = NearestGap.over([f"gap-{n // 3}" for n in range(9)], vectors[:9])

    assert [gaps.nearest(each) for each in vectors[[0, 4, 8]]] == ["gap-0", "gap-1", "gap-2"]
    assert gaps.nearest(vectors[9]) is None
    gaps.add("gap-3", vectors[9])
    assert gaps.nearest(vectors[10]) == "gap-3"


def test_gaps_are_opened_one_after_the_other() -> None:
    vectors = around(200, 2)
    gaps = NearestGap()
    assert gaps.nearest(vectors[0]) is None
    for number, each in enumerate(vectors[::2]):
        gaps.add(str(number), each)

    found = [gaps.nearest(each) for each in vectors[1::2]]

    assert found == [str(number) for number in range(200)]
    assert gaps.nearest(vectors[0][:32]) is None


def labelled(*labels: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(labels, dtype=np.int64)


def test_a_group_keeps_the_gap_that_it_shares_most_questions_with() -> None:
    after = inherit(labelled(0, 0, 0, 1, 1, 2), ["a", "a", "b", "b", "b", None], {}, lambda: "new")

    assert list(after) == ["a", "a", "a", "b", "b", "new"]


def test_a_gap_that_is_split_stays_with_its_larger_part() -> None:
    after = inherit(labelled(0, 0, 1), ["a", "a", "a"], {}, lambda: "new")

    assert list(after) == ["a", "a", "new"]


@pytest.mark.parametrize(
    ("hold", "expected"), [("claims", ["t"] * 5), ("kept", ["t", "a", "a", "a", "a"])]
)
def test_a_gap_that_somebody_decided_on_never_vanishes(hold: str, expected: list[str]) -> None:
    """A taken one takes the larger group in; one that is not ours only keeps its own."""
    after = inherit(
        labelled(0, 0, 0, 0, 0),
        ["t", "a", "a", "a", "a"],
        {"t": hold},  # type: ignore[dict-item]  # a parameter is any text
    )

    assert list(after) == expected


def test_two_taken_gaps_stay_two() -> None:
    after = inherit(labelled(0, 0, 0), ["a", "a", "b"], {"a": "claims", "b": "claims"})

    assert list(after) == ["a", "a", "b"]

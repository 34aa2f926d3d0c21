"""Tests of the training of the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from bot.answering.evaluation import gate_training as training
from bot.answering.evaluation.labelled_questions import Grade
from bot.answering.evaluation.question_cases import Case
from bot.answering.evaluation.training_samples import (
    EVENTS_PER_FEATURE,
    EXPECTED_SIGNS,
    UNANSWERABLE_SHARE,
    Sample,
    samples_of,
)
from bot.answering.gate import CAREFUL_RULE, Gate
from bot.answering.gate_file import Calibration, GateFile
from tests.unit.bot.answering.evaluation.cases import WRONG, case, row


def samples(n: int = 300) -> list[Sample]:
    """Right where the cosine is high; the keyword score misleads."""
    generator = np.random.default_rng(4)
    cosine = generator.uniform(0, 1, n)
    right = generator.uniform(0, 1, n) < cosine
    return [
        Sample(
            features={"vector_best": float(cosine[i]), "keyword_best": float(~right[i])},
            right=bool(right[i]),
            kind=("far", "answerable", "answerable", "near_miss")[i % 4],
            group=f"page {i % 40}",
            data="own" if i % 2 else "other",
        )
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def by_cosine() -> Calibration:
    calibration: Calibration = training.fit(samples(), "right")
    return calibration


def test_the_regression_finds_what_tells_right_from_wrong(by_cosine: Calibration) -> None:
    (used,) = by_cosine.features
    assert used.name == "vector_best"
    assert used.coefficient > 0
    assert by_cosine.validation["auroc"] > 0.75
    assert [(each.name, each.questions) for each in by_cosine.trained_on] == [
        ("other", 150),
        ("own", 150),
    ]


def answers_of_a_model(n: int = 120) -> list[Sample]:
    """One in eight is wrong, and only the careful rule knows; the rest is noise."""
    generator = np.random.default_rng(7)
    noise = {name: generator.uniform(0, 1, n) for name in EXPECTED_SIGNS}
    return [
        Sample(
            features={name: float(values[i]) for name, values in noise.items()}
            | {CAREFUL_RULE: 0.3 if i % 8 == 0 else 0.9},
            right=i % 8 != 0,
            kind="answerable",
            group=f"page {i}",
            data=("a", "b", "c")[i % 3],
        )
        for i in range(n)
    ]


def test_few_wrong_answers_bear_few_features_and_a_threshold_keeps_them_out() -> None:
    samples = answers_of_a_model()

    found = training.fit(samples, "right")

    assert CAREFUL_RULE in {used.name for used in found.features}
    assert len(found.features) <= 120 // 8 // EVENTS_PER_FEATURE
    assert found.threshold is not None
    file = GateFile(version=2, date=date(2026, 11, 23), calibrations={"extractive": found})
    judged = [
        Gate(file).probability({**each.features, "has_claims": 1.0}, "extractive")
        >= found.threshold
        for each in samples
    ]
    assert judged == [each.right for each in samples]


def test_the_same_samples_give_the_same_file(by_cosine: Calibration) -> None:
    assert training.fit(samples(), "right") == by_cosine


def asked(counts: Mapping[tuple[str, str], int]) -> list[tuple[str, list[Case]]]:
    """Return so many cases of each kind in each set."""
    kinds: Mapping[str, Case] = {
        "answerable": case(),
        "far": case(row("f", "far")),
        "withheld": case(withheld=True),
    }
    sets = dict.fromkeys(data for data, _ in counts)
    return [
        (data, [kinds[kind] for (of, kind), n in counts.items() if of == data for _ in range(n)])
        for data in sets
    ]


def share(rows: Sequence[Sample], data: str, kind: str) -> float:
    return sum(row.weight for row in rows if (row.data, row.kind) == (data, kind))


def test_sets_count_alike_and_so_does_every_kind_without_an_answer() -> None:
    counts = {
        ("a", "answerable"): 10,
        ("a", "far"): 1,
        ("a", "withheld"): 9,
        ("b", "answerable"): 80,
    }
    rows = samples_of(asked(counts))

    assert share(rows, "b", "answerable") == pytest.approx(1)
    assert share(rows, "a", "answerable") == pytest.approx(1 - UNANSWERABLE_SHARE)
    assert share(rows, "a", "far") == pytest.approx(UNANSWERABLE_SHARE / 2)
    assert share(rows, "a", "withheld") == pytest.approx(UNANSWERABLE_SHARE / 2)


def test_questions_that_a_model_refused_leave_less_weight_to_their_kind() -> None:
    ((name, cases),) = asked({("a", "answerable"): 10, ("a", "withheld"): 10})
    refused = [replace(each, features={"has_claims": 0.0}) for each in cases[11:]]

    rows = samples_of([(name, [*cases[:11], *refused])])

    assert share(rows, "a", "withheld") == pytest.approx(UNANSWERABLE_SHARE / 10)


def test_an_answer_that_names_what_is_missing_is_right_for_what_it_says() -> None:
    half = Grade(facts=False, cited=True, evidence=True, citations=1, valid=1, facts_held=0.5)
    named = case(verdict=half, features={"composer_partial": 1.0})

    rows = samples_of([("own", [named, case(verdict=half), replace(named, withheld=True)])])

    assert [each.right for each in rows] == [True, False, False]


@pytest.mark.parametrize("labels", [[True] * 100, [True, False] * 10])
def test_too_little_to_learn_from_is_refused(labels: list[bool]) -> None:
    few = [
        Sample({"vector_best": 1.0}, right=right, kind="answerable", group=str(n), data="own")
        for n, right in enumerate(labels)
    ]

    with pytest.raises(ValueError, match="too few"):
        training.fit(few, "right")


def test_samples_are_quoted_answers_to_questions_with_a_label() -> None:
    cases = [
        case(),
        case(withheld=True),
        case(verdict=WRONG),
        case(row("q2", "near_miss")),
        case(row("q3", "generic")),
    ]

    found = samples_of([("own", cases)])

    assert [each.right for each in found] == [True, False, False, False]
    assert [each.kind for each in found] == ["answerable", "withheld", "answerable", "near_miss"]


def test_the_fit_agrees_with_scikit_learn() -> None:
    linear = pytest.importorskip("sklearn.linear_model", reason="an oracle of requirements-evals")
    selection = pytest.importorskip("sklearn.model_selection")
    generator = np.random.default_rng(3)
    for n, columns, strength in [(60, 3, 0.003), (200, 20, 0.3), (120, 8, 100.0)]:
        table = generator.normal(size=(n, columns))
        right = (generator.uniform(size=n) < 1 / (1 + np.exp(-3 * table[:, 0]))).astype(np.int64)
        weights = generator.uniform(0.1, 3, n)
        oracle = linear.LogisticRegression(C=strength, max_iter=5000, tol=1e-10)
        oracle.fit(table, right, sample_weight=weights)

        coefficients, intercept = training.logistic_fit(table, right, weights, strength)

        assert coefficients == pytest.approx(oracle.coef_[0], abs=1e-5)
        assert intercept == pytest.approx(oracle.intercept_[0], abs=1e-5)
        groups = [f"page {each}" for each in generator.integers(0, 25, n)]
        dealt = [np.flatnonzero(fold).tolist() for fold in training.grouped_folds(groups, 5)]
        expected = selection.GroupKFold(5).split(table, right, groups)
        assert dealt == [unseen.tolist() for _, unseen in expected]


def test_answers_that_are_told_apart_perfectly_are_fitted_all_the_same() -> None:
    table = np.repeat([[-1.0], [1.0]], 50, axis=0)
    right = (table[:, 0] > 0).astype(np.int64)

    coefficients, intercept = training.logistic_fit(table, right, np.ones(100), 1e6)

    assert coefficients[0] > 5
    assert abs(intercept) < 1e-6

from __future__ import annotations

import numpy as np
import pytest

from bot.evaluating.samples import Sample, samples_of
from tests.bot.evaluating.cases import WRONG, case, row

training = pytest.importorskip(
    "bot.evaluating.training", reason="scikit-learn is in requirements-evals.txt"
)


def samples(n: int = 300) -> list[Sample]:
    """Right where the cosine is high; the keyword score misleads."""
    generator = np.random.default_rng(4)
    cosine = generator.uniform(0, 1, n)
    right = generator.uniform(0, 1, n) < cosine
    return [
        Sample(
            features={"vector_best": float(cosine[i]), "keyword_best": float(~right[i])},
            right=bool(right[i]),
            answerable=i % 3 != 0,
            group=f"page {i % 40}",
            data="own" if i % 2 else "other",
        )
        for i in range(n)
    ]


def test_the_regression_finds_what_tells_right_from_wrong() -> None:
    found = training.fit(samples(), "right")

    (used,) = found.features
    assert used.name == "vector_best"
    assert used.coefficient > 0
    assert found.validation["auroc"] > 0.75
    assert [(each.name, each.questions) for each in found.trained_on] == [
        ("other", 150),
        ("own", 150),
    ]


def test_a_feature_that_speaks_the_wrong_way_is_left_out_however_well_it_fits() -> None:
    assert "keyword_best" not in {used.name for used in training.fit(samples(), "right").features}


def test_the_same_samples_give_the_same_file() -> None:
    assert training.fit(samples(), "right") == training.fit(samples(), "right")


def test_unanswerable_questions_count_as_a_quarter_of_each_set() -> None:
    rows = samples(60)
    weights = training.weights_of(rows)
    share = weights[[not each.answerable for each in rows]].sum() / weights.sum()

    assert share == pytest.approx(training.UNANSWERABLE_SHARE)


@pytest.mark.parametrize("labels", [[True] * 100, [True, False] * 10])
def test_too_little_to_learn_from_is_refused(labels: list[bool]) -> None:
    few = [
        Sample({"vector_best": 1.0}, right=right, answerable=True, group=str(n), data="own")
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
    by_evidence = samples_of([("own", cases)], evidence=True)

    assert [each.right for each in found] == [True, False, False, False]
    assert [each.answerable for each in found] == [True, False, True, False]
    assert [each.right for each in by_evidence] == [True, False, True, False]

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
            kind=("far", "answerable", "answerable", "near_miss")[i % 4],
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


def test_sets_count_alike_and_so_does_every_kind_without_an_answer() -> None:
    cells = {
        ("a", "answerable"): 10,
        ("a", "far"): 1,
        ("a", "withheld"): 9,
        ("b", "answerable"): 80,
    }
    rows = [
        Sample({}, right=True, kind=kind, group="", data=data)
        for (data, kind), n in cells.items()
        for _ in range(n)
    ]
    weights = training.weights_of(rows)

    def share(data: str, kind: str) -> float:
        chosen = [row.data == data and row.kind == kind for row in rows]
        return float(weights[chosen].sum() / weights.sum())

    third = training.UNANSWERABLE_SHARE
    assert share("b", "answerable") == pytest.approx(1 / 2)
    assert share("a", "answerable") == pytest.approx((1 - third) / 2)
    assert share("a", "far") == share("a", "withheld") == pytest.approx(third / 4)


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
    by_evidence = samples_of([("own", cases)], evidence=True)

    assert [each.right for each in found] == [True, False, False, False]
    assert [each.kind for each in found] == ["answerable", "withheld", "answerable", "near_miss"]
    assert [each.right for each in by_evidence] == [True, False, True, False]

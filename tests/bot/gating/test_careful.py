from __future__ import annotations

from collections.abc import Mapping

import pytest

from bot.answering.gate import Judgement, careful_probability

CERTAIN: Mapping[str, float] = {
    "has_claims": 1.0,
    "supported_share": 1.0,
    "composer_answerable": 1.0,
    "composer_self_rating": 1.0,
    "composer_partial": 0.0,
    "composer_figures_quoted": 1.0,
}
MISSING = {"composer_partial": 1.0}
MEDIUM = {"composer_self_rating": 0.5}
DROPPED = {"supported_share": 0.5}


@pytest.mark.parametrize(
    ("doubts", "level"),
    [
        ({}, "sure"),
        (MISSING, "partial"),
        (MEDIUM, "unsure"),
        (DROPPED, "unsure"),
        ({"composer_figures_quoted": 0.5}, "unsure"),
        ({**MEDIUM, **MISSING}, "unsure"),
        ({**MEDIUM, **DROPPED}, None),
        ({"composer_self_rating": 0.0}, None),
        ({"composer_answerable": 0.0}, None),
    ],
    ids=str,
)
def test_each_doubt_lowers_an_answer_by_a_step(
    doubts: Mapping[str, float], level: str | None
) -> None:
    found = {**CERTAIN, **doubts}
    missing = "When." if found["composer_partial"] else None

    assert Judgement(careful_probability(found), 0.65).level(missing) == level


def test_what_the_model_does_not_rate_goes_to_a_person() -> None:
    unrated = {name: value for name, value in CERTAIN.items() if "rating" not in name}

    assert Judgement(careful_probability(unrated), 0.65).level(None) is None


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
def test_one_dropped_claim_costs_the_same_however_many_there_are(share: float) -> None:
    lowered = careful_probability({**CERTAIN, "supported_share": share})

    assert lowered == careful_probability({**CERTAIN, **DROPPED}) > 0

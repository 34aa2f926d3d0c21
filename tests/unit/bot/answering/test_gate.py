"""Tests of the gate: its features, its calibrations, and answers that it judges carefully."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.gate import (
    CAREFUL_RULE,
    DEFINED,
    GATE_FILE,
    Gate,
    Judgement,
    calibration_name,
    careful_probability,
    load_gate,
    veto,
)
from bot.answering.gate_file import (
    CAREFUL,
    UNSURE_FROM,
    Calibration,
    CertificateRecord,
    Feature,
    GateFile,
)
from bot.domain.errors import SettingInvalid
from rag.answer.confidence import features
from rag.ports import Composition
from tests.fakes.passages import passage

EXPECTED_FEATURES = features(
    "vpn",
    [
        passage("vpn", page=page, signals={"vector": 0.5, "keyword": 1.0, "tokens": 0.5})
        for page in ("one.md", "two.md")
    ],
    Composition(
        claims=(),
        signals={
            "best_quote_score": 1.0,
            "best_quote_coverage": 1.0,
            "best_quote_cosine": 1.0,
            "quotes_coverage": 1.0,
            "lead_over_other_pages": 1.0,
            "section_score": 1.0,
            "section_gap": 1.0,
            "section_lead": 1.0,
            "answer_type_missing": 1.0,
            "self_rating": 1.0,
            "partial": 0.0,
            "answerable": 1.0,
            "claims_kept_share": 1.0,
            "lines_found_share": 1.0,
            "figures_quoted": 1.0,
            "words_supported": 1.0,
            "wording_literal": 1.0,
        },
    ),
    None,
)

SURE: Mapping[str, float] = {
    "has_claims": 1.0,
    "supported_share": 1.0,
    "uncovered_identifiers": 0.0,
    "vector_best": 0.8,
}


def feature(name: str, coefficient: float) -> Feature:
    return Feature(name=name, mean=0.5, scale=0.1, lowest=0.2, highest=0.9, coefficient=coefficient)


def calibration(coefficient: float = 1.0) -> Calibration:
    return Calibration(
        label="right",
        intercept=0.0,
        features=(feature("vector_best", coefficient),),
        trained_on=(),
    )


def gate(**calibrations: Calibration) -> Gate:
    return named_gate({name.replace("_", "."): each for name, each in calibrations.items()})


def named_gate(calibrations: Mapping[str, Calibration], threshold: float | None = 0.65) -> Gate:
    file = GateFile(version=2, date=date(2026, 11, 22), calibrations=dict(calibrations))
    return Gate(file, threshold)


def test_the_probability_is_a_logistic_regression() -> None:
    found = gate(extractive=calibration()).probability(SURE, "extractive")

    assert math.isclose(found, 1 / (1 + math.exp(-3)))


def test_a_value_beyond_the_training_set_counts_as_its_edge() -> None:
    judge = gate(extractive=calibration())

    beyond = judge.probability({**SURE, "vector_best": 5.0}, "extractive")
    edge = judge.probability({**SURE, "vector_best": 0.9}, "extractive")

    assert beyond == edge


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_number_that_is_none_counts_as_average(odd: float) -> None:
    assert (
        gate(extractive=calibration()).probability({**SURE, "vector_best": odd}, "extractive")
        == 0.5
    )


@pytest.mark.parametrize(
    "against",
    [
        {"has_claims": 0.0},
        {"uncovered_identifiers": 1.0},
    ],
    ids=["nothing quoted", "identifier in no passage"],
)
def test_a_veto_makes_it_zero_whatever_else_speaks_for_it(against: Mapping[str, float]) -> None:
    found = {**SURE, **against}

    assert gate(extractive=calibration()).probability(found, "extractive") == 0.0
    assert veto(found) is not None


def test_a_definition_that_was_asked_for_makes_an_answer_sure_and_lifts_no_veto() -> None:
    judge = gate(extractive=calibration(-1.0))
    defines = {**SURE, "composer_defines_term": 1.0}

    assert judge.judge(SURE, "extractive").level(None) != "sure"
    assert judge.judge(defines, "extractive").level(None) == "sure"
    assert judge.probability(defines, "extractive") == DEFINED
    assert judge.probability({**defines, "has_claims": 0.0}, "extractive") == 0.0


def test_no_signal_of_the_search_is_a_veto() -> None:
    silent = {name: value for name, value in SURE.items() if name != "vector_best"}

    assert gate(extractive=calibration()).probability(silent, "extractive") == 0.0
    assert veto({**silent, "keyword_best": 1.0}) is None


def test_a_composer_without_a_calibration_is_never_believed() -> None:
    assert gate(extractive=calibration()).probability(SURE, "none") == 0.0


def test_keyword_search_alone_has_a_calibration_of_its_own() -> None:
    found = {"has_claims": 1.0, "keyword_best": 1.0}
    judge = gate(
        extractive=calibration(),
        extractive_keyword=calibration().model_copy(update={"intercept": 2.0}),
    )

    assert math.isclose(judge.probability(found, "extractive"), 1 / (1 + math.exp(-2)))


@pytest.mark.parametrize(
    "name",
    [calibration_name("gpt-other", "answer@2"), calibration_name("gpt-own", "answer@3")],
    ids=["another model", "another prompt"],
)
def test_a_calibration_is_used_for_its_model_and_prompt_alone(name: str) -> None:
    own = calibration_name("gpt-own", "answer@2")
    judge = named_gate({own: calibration()})

    assert judge.judge(SURE, own).by == own
    assert judge.judge(SURE, name).by == CAREFUL
    assert not judge.weights(SURE, name)


def test_a_calibration_says_from_where_on_an_answer_is_a_guess() -> None:
    judge = named_gate({"extractive": calibration().model_copy(update={"unsure_from": 0.2})})

    assert judge.judge(SURE, "extractive").unsure_from == 0.2
    assert judge.judge(SURE, calibration_name("gpt", "answer@2")).unsure_from == UNSURE_FROM


@pytest.mark.parametrize(
    ("probability", "missing", "level"),
    [
        (0.65, None, "sure"),
        (0.65, "When.", "partial"),
        (0.64, None, "unsure"),
        (0.4, "When.", "unsure"),
        (0.39, None, None),
    ],
)
def test_the_level_follows_from_both_bounds_and_what_is_missing(
    probability: float, missing: str | None, level: str | None
) -> None:
    assert Judgement(probability, threshold=0.65, unsure_from=0.4).level(missing) == level


def test_no_threshold_lets_a_veto_through() -> None:
    assert Judgement(0.0, threshold=0.0, unsure_from=0.0).level(None) is None


def test_without_a_second_bound_below_the_threshold_nothing_is_a_guess() -> None:
    assert Judgement(0.3, threshold=0.3, unsure_from=0.4).level(None) == "sure"
    assert Judgement(0.29, threshold=0.3, unsure_from=0.4).level(None) is None


@pytest.mark.parametrize(
    ("configured", "thresholds"),
    [
        (0.5, {"certified": 0.8, "trained": 0.5, "plain": 0.5, "unknown": 0.5}),
        (None, {"certified": 0.8, "trained": 0.7, "plain": 0.65, "unknown": 0.65}),
    ],
)
def test_a_threshold_is_certified_else_configured_else_trained(
    configured: float | None, thresholds: Mapping[str, float]
) -> None:
    record = CertificateRecord(
        threshold=0.8,
        target_error=0.05,
        confidence=0.9,
        coverage=0.3,
        questions=400,
        on="own",
        date=date(2026, 11, 22),
    )
    trained = calibration().model_copy(update={"threshold": 0.7})
    known = {
        "certified": trained.model_copy(update={"certificate": record}),
        "trained": trained,
        "plain": calibration(),
    }

    judge = named_gate(known, configured)

    assert {name: judge.threshold(name) for name in thresholds} == thresholds


def test_an_answer_is_held_to_the_threshold_of_what_judged_it() -> None:
    known = {
        "extractive": calibration().model_copy(update={"threshold": 0.3}),
        "extractive.keyword": calibration().model_copy(update={"threshold": 0.8}),
    }
    without_vectors = {"has_claims": 1.0, "keyword_best": 1.0}

    assert named_gate(known, None).judge(without_vectors, "extractive").threshold == 0.8
    assert named_gate(known, None).judge(SURE, "extractive").threshold == 0.3


def test_a_failed_check_lowers_what_a_model_says_as_the_careful_rule_does() -> None:
    name = calibration_name("gpt", "answer@1")
    rule = calibration().model_copy(update={"features": (feature(CAREFUL_RULE, 1.0),)})
    judge = named_gate({name: rule})
    kept = judge.probability({**SURE, "composer_self_rating": 1.0}, name)

    dropped = {**SURE, "composer_self_rating": 1.0, "supported_share": 0.5}

    assert judge.probability(dropped, name) < kept
    assert [each.name for each in judge.weights(dropped, name)] == [CAREFUL_RULE]


def test_the_shipped_file_judges_quotes_and_says_what_it_was_trained_on() -> None:
    file = GateFile.model_validate_json(GATE_FILE.read_bytes())

    assert {"extractive", "extractive.keyword"} <= set(file.calibrations)
    for each in file.calibrations.values():
        assert all(0 < used.right < used.questions for used in each.trained_on)
        assert each.validation["auroc"] > 0.5
    names = {used.name for each in file.calibrations.values() for used in each.features}
    assert names <= {*EXPECTED_FEATURES, CAREFUL_RULE}


@given(
    st.dictionaries(
        st.sampled_from(["vector_best", "score_best", "coverage_best", "has_claims"]),
        st.floats(allow_nan=True, allow_infinity=True),
    )
)
def test_whatever_the_features_it_is_a_probability(found: dict[str, float]) -> None:
    judge = load_gate(0.65)

    assert 0.0 <= judge.probability(found, "extractive") <= 1.0
    assert 0.0 <= judge.probability(found, calibration_name("gpt", "answer@1")) <= 1.0


@pytest.mark.parametrize(
    "content", ["", "{}", json.dumps({"version": 3, "date": "2026-11-22", "calibrations": {}})]
)
def test_a_file_malformed_or_of_another_version_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "gate.json"
    path.write_text(content)

    with pytest.raises(SettingInvalid, match=r"(?s)gate\.json.*train"):
        load_gate(0.65, path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match=r"none\.json"):
        load_gate(0.65, tmp_path / "none.json")


def test_a_file_of_version_1_keeps_what_it_learned_of_quotes(tmp_path: Path) -> None:
    old = calibration().model_dump(mode="json") | {"times_supported_share": True}
    path = tmp_path / "gate.json"
    path.write_text(
        json.dumps(
            {"version": 1, "date": "2026-11-22", "calibrations": {"extractive": old, "model": old}}
        )
    )

    judge = load_gate(0.65, path)

    assert judge.knows("extractive")
    assert not judge.knows("model")


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
def test_each_doubt_lowers_it_by_a_step(doubts: Mapping[str, float], level: str | None) -> None:
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

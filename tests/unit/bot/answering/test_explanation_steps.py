"""Tests of explanations: their steps in words, their figures and the names of signals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Literal

import pytest

from bot.answering.explanations.signals import CALL_NAMES, SIGNALS, Signal, format_signal, signal_of
from bot.answering.explanations.steps import stated_confidence, steps_of
from bot.answering.explanations.view import (
    explanation_view,
    feature_weights_of,
    figure_groups,
    passage_rows,
    weight_rows,
)
from bot.answering.gate import CAREFUL_RULE, FeatureWeight, Gate, load_gate_file
from bot.answering.gate_file import Calibration, Feature, GateFile
from bot.domain.interactions import (
    CacheUse,
    Clarification,
    Escalation,
    EscalationReason,
    Outcome,
    Reply,
    Response,
    Trace,
)
from bot.domain.messages import FoundPassage, Intent, SearchFilters
from bot.domain.outcomes import explanation_title
from prompts.files import load_prompt
from rag.answer.confidence import features
from rag.answer.extractive import ExtractiveComposer
from rag.answer.grounded import GroundedComposer
from rag.ports import Composer, Composition, Vocabulary
from rag.types import ModelCall, Passage
from tests.fakes.builders import NOON, route
from tests.fakes.model_server import answer_json, answer_part
from tests.fakes.passages import passage
from tests.fakes.rag_ports import ScriptedModel

JARGON = {"chunk", "retriev", "classifier", "gate", "threshold", "embedding", "vector", "token"}


def weighed(name: str, coefficient: float) -> Feature:
    return Feature(name=name, mean=0.1, scale=0.1, lowest=0.0, highest=1.0, coefficient=coefficient)


GATE = Gate(
    GateFile(
        version=2,
        date=date(2026, 11, 23),
        calibrations={
            "extractive": Calibration(
                label="right",
                intercept=0.0,
                features=(weighed("tokens_lead", 1.0), weighed("vector_best", 0.01)),
                trained_on=(),
            )
        },
    )
)
"""The lead counts, the cosine hardly: the shipped file changes with each training."""

PASSAGES = (
    FoundPassage("c1", "vpn.md", "VPN", "Error codes", {"keyword": 5.0, "fused": 1.0}),
    FoundPassage("c2", "vpn.md", "VPN", "", {"vector": 0.5, "fused": 0.5}),
)


UNRANKED = FoundPassage("c3", "vpn.md", "VPN", "", {"fused": 0.4, "reranker_absent": 1.0})


def told(
    response: Response,
    intent: Intent = Intent.DOMAIN,
    passages: tuple[FoundPassage, ...] = PASSAGES,
    **features: float,
) -> str:
    trace = Trace(
        route=route(intent, "vpn error 809"),
        passages=passages if intent in {Intent.DOMAIN, Intent.UNKNOWN} else (),
        features=features,
        threshold=0.65,
        notes=("the desk stopped on OperationalError",),
    )
    return " ".join(step.text for step in explanation_view(Outcome(response, trace), GATE).steps)


def not_answered(reason: EscalationReason, confidence: float | None = 0.2) -> Escalation:
    return Escalation("Not sure.", reason, "vpn error 809", confidence=confidence)


EVERY_RESPONSE: list[Response] = [
    Reply("x", "found", confidence=0.8),
    Reply("x", "answer", confidence=0.5, confidence_level="unsure"),
    Reply("x", "answer", confidence=0.8, confidence_level="partial", missing="who pays"),
    Reply("x", "generic"),
    Reply("x", "generic", refused=True),
    Clarification("Which?"),
    not_answered("low_confidence"),
    not_answered("nothing_found"),
    not_answered("unsupported"),
    not_answered("unavailable", None),
    not_answered("asked_for_human", None),
]


@pytest.mark.parametrize("response", EVERY_RESPONSE)
@pytest.mark.parametrize("intent", Intent)
def test_no_word_needs_explaining(response: Response, intent: Intent) -> None:
    words = told(response, intent).lower()

    assert words
    assert not [word for word in JARGON if word in words]
    assert "operationalerror" not in words


def test_an_answer_tells_its_chance_and_what_is_needed() -> None:
    assert "80%; I need 65% to answer." in told(Reply("x", "found", confidence=0.8))


def test_no_answer_tells_its_chance_and_what_is_needed() -> None:
    words = told(not_answered("low_confidence"))

    assert "20%; I need 65% to answer, so I don't guess" in words
    assert "2 best matching passages, from 1 page." in words


def test_it_is_said_when_the_ranker_did_not_answer() -> None:
    reply = Reply("x", "found", confidence=0.8)

    assert "ranker" not in told(reply)
    words = told(reply, passages=(*PASSAGES, UNRANKED))
    assert "The search service's ranker did not respond, so they are in my own order" in words


def test_a_code_that_is_nowhere_is_named_as_the_reason() -> None:
    words = told(not_answered("low_confidence"), has_claims=1, uncovered_identifiers=1)

    assert "A number or code from the question is in none of them." in words
    assert "%" not in words


def test_a_pasted_log_is_not_repeated_in_full() -> None:
    pasted = Trace(route=route(Intent.DOMAIN, "error " * 500))

    steps = explanation_view(Outcome(Reply("x", "found"), pasted), GATE).steps

    assert max(len(step.text) for step in steps) < 300


def test_pages_without_a_line_that_answers_are_named_as_the_reason() -> None:
    words = told(not_answered("low_confidence"), has_claims=0)

    assert "None of them has a line that answers it." in words


def test_nothing_is_said_of_searching_when_nothing_was_searched() -> None:
    assert "in the wiki pages you can read" not in told(Reply("x", "generic"), Intent.GENERIC)


def test_what_would_have_been_enough_is_said_where_it_is_known() -> None:
    assert "A page that mentions this number or code would have been enough" in told(
        not_answered("low_confidence"), has_claims=1, uncovered_identifiers=1
    )
    assert "A page about this that you can read would have been enough" in told(
        not_answered("nothing_found")
    )
    assert "A page that says so explicitly would have been enough" in told(
        not_answered("unsupported")
    )
    assert "would have been enough" not in told(Reply("x", "found", confidence=0.8))
    assert "would have been enough" not in told(not_answered("unavailable", None))


def test_what_spoke_most_against_an_answer_is_named_in_words() -> None:
    words = told(not_answered("low_confidence"), has_claims=1, tokens_lead=0.0, vector_best=0.1)

    assert "What made me unsure: other pages match almost as well" in words


def test_a_chance_just_under_what_is_needed_does_not_look_like_enough() -> None:
    assert "64%; I need 65% to answer" in told(not_answered("low_confidence", 0.6449))
    assert "just under 65%" in told(not_answered("low_confidence", 0.649))


def test_a_question_that_was_refused_by_a_limit_says_so() -> None:
    trace = Trace(route=route(Intent.UNKNOWN, "q"), notes=("limit:person",))

    (step,) = explanation_view(Outcome(Reply("Later.", "generic", refused=True), trace), GATE).steps

    assert "there were too many questions" in step.text


def test_signals_that_were_weighed_come_with_what_they_did_strongest_first() -> None:
    trace = Trace(
        route=route(Intent.DOMAIN, "q"),
        features={"has_claims": 1.0, "vector_best": 0.5, "tokens_lead": 0.2},
        threshold=0.65,
    )
    view = explanation_view(Outcome(Reply("x", "found", confidence=0.8), trace), GATE)

    assert [(row.name, row.did) for row in view.weights] == [
        ("Word-by-word match, lead over other pages", "clearly for"),
        ("Same meaning, best passage", "hardly matters"),
    ]
    others = next(group for group in view.groups if group.name == "Other signals")
    assert ("Something answers the question", "yes") in others.rows
    assert not {row.name for row in view.weights} & {name for name, _ in others.rows}


def test_how_sure_it_was_is_shown_only_where_that_decided() -> None:
    for response in EVERY_RESPONSE:
        trace = Trace(route=route(Intent.DOMAIN, "q"), threshold=0.65)
        sure = explanation_view(Outcome(response, trace), GATE).sure
        assert (sure is not None) == ("%" in told(response))


def test_a_question_that_was_declined_tells_no_chance() -> None:
    declined = Reply("x", "generic", refused=True, confidence=0.9)
    trace = Trace(route=route(Intent.DOMAIN, "q"), features={"tokens_lead": 0.2}, threshold=0.65)

    view = explanation_view(Outcome(declined, trace), GATE)

    assert view.sure is None
    assert view.weights == ()


@pytest.mark.parametrize(
    ("response", "title"),
    [
        (Reply("x", "found"), "Why this answer"),
        (Clarification("Which?"), "Why a follow-up question"),
        (not_answered("asked_for_human", None), "Why a person"),
        (not_answered("nothing_found"), "Why no answer"),
    ],
)
def test_an_explanation_is_called_by_what_became_of_it(response: Response, title: str) -> None:
    trace = Trace(route=route(Intent.DOMAIN, "q"))

    assert explanation_title(Outcome(response, trace)) == title
    assert explanation_title(Outcome(response, trace, silent=True)) == "Why no answer"


@pytest.mark.parametrize("response", EVERY_RESPONSE)
def test_what_was_not_said_is_not_told_as_if_it_was(response: Response) -> None:
    trace = Trace(route=route(Intent.DOMAIN, "q"), threshold=0.65)

    steps = explanation_view(Outcome(response, trace, silent=True), GATE).steps

    (result,) = (step.text for step in steps if step.label == "Result")
    assert result.endswith("so I said nothing.")
    assert "to answer, so this is a guess" not in result
    assert "asked back" not in result


def test_what_kept_it_silent_is_told_with_its_chance() -> None:
    trace = Trace(route=route(Intent.DOMAIN, "q"), threshold=0.65)
    unsure = Outcome(not_answered("low_confidence"), trace, silent=True)

    (result,) = (
        step.text for step in explanation_view(unsure, GATE).steps if step.label == "Result"
    )

    assert "20%; I need 65% to answer, so I don't guess" in result


@pytest.mark.parametrize("response", EVERY_RESPONSE)
@pytest.mark.parametrize("features", [{}, {"has_claims": 1.0, "uncovered_identifiers": 1.0}])
def test_braces_of_a_question_are_shown(response: Response, features: dict[str, float]) -> None:
    trace = Trace(route=route(Intent.DOMAIN, "{asked} {x}"), features=features, threshold=0.65)
    outcome = Outcome(response, trace)

    steps = steps_of(outcome, feature_weights_of(outcome, GATE), private=False)

    assert "{asked} {x}" in steps[1].text


def test_what_the_search_was_limited_to_is_told() -> None:
    outcome = Outcome(not_answered("nothing_found"), Trace(route=route(Intent.DOMAIN, "q")))
    filters = SearchFilters(frozenset({"IT", "HR"}), "upload")

    limited, whole = (
        next(s.text for s in steps_of(outcome, [], private=True, filters=f) if s.label == "Search")
        for f in (filters, SearchFilters())
    )

    assert "only in HR, IT and from sources of type upload" in limited
    assert "only" not in whole


def test_what_made_it_unsure_is_told() -> None:
    features = {"has_claims": 1.0, "coverage_first": 0.0, "tokens_lead": 1.0, "vector_best": 0.4}
    trace = Trace(route=route(Intent.DOMAIN, "q"), features=features, threshold=0.65)
    outcome = Outcome(not_answered("low_confidence"), trace)
    weights = [FeatureWeight("coverage_first", 0.0, -1.0)]

    (text,) = (s.text for s in steps_of(outcome, weights, private=True) if s.label == "Missing")

    assert "few words of the question are in the passages" in text


def test_a_guess_and_a_part_are_told_as_such() -> None:
    guess = Reply("x", "answer", confidence=0.5, confidence_level="unsure")
    part = Reply("x", "answer", confidence=0.9, confidence_level="partial", missing="who {pays}")

    assert "guess" in told(guess, has_claims=1.0)
    assert "who {pays}" in told(part, has_claims=1.0)
    assert "guess" not in told(part, has_claims=1.0)


def outcome(response: Response, threshold: float | None = 0.65, **features: float) -> Outcome:
    trace = Trace(route=route(Intent.DOMAIN, "q"), features=features, threshold=threshold)
    return Outcome(response, trace)


def unsure(confidence: float) -> Escalation:
    return Escalation("I'll ask.", "low_confidence", "q", confidence=confidence)


@pytest.mark.parametrize(
    ("response", "threshold", "words", "told", "needed"),
    [
        (unsure(0.2), 0.65, "not confident enough", "20%", "65%"),
        (unsure(0.649), 0.65, "not confident enough", "just under 65%", "65%"),
        (unsure(0.88), 0.9, "not confident enough", "88%", "90%"),
        (Reply("x", "found", confidence=0.65), 0.65, "fairly confident", "65%", "65%"),
        (Reply("x", "found", confidence=0.8), 0.65, "fairly confident", "80%", "65%"),
        (Reply("x", "answer", confidence=0.9), 0.65, "very confident", "90%", "65%"),
    ],
)
def test_words_and_numbers_say_the_same(
    response: Response, threshold: float, words: str, told: str, needed: str
) -> None:
    sure = stated_confidence(outcome(response, threshold))

    assert sure is not None
    assert (sure.words, sure.told, sure.needed_told) == (words, told, needed)


@pytest.mark.parametrize(
    "judged",
    [
        outcome(Reply("x", "generic")),
        outcome(Reply("x", "generic", refused=True, confidence=0.8)),
        outcome(Reply("x", "found", confidence=0.8), None),
        outcome(Clarification("Which?", confidence=0.4)),
        outcome(Escalation("x", "nothing_found", "q", confidence=0.1)),
        outcome(unsure(0.0), has_claims=0),
        outcome(unsure(0.0), has_claims=1, uncovered_identifiers=2),
    ],
)
def test_where_it_did_not_decide_nothing_is_said_of_it(judged: Outcome) -> None:
    assert stated_confidence(judged) is None


FIGURE_PASSAGES = (
    FoundPassage("c1", "vpn.md", "VPN", "Error codes", {"keyword": 5.0, "fused": 1.0}),
    FoundPassage("c2", "vpn.md", "VPN", "VPN", {"vector": 0.5, "fused": 0.5}),
    FoundPassage("c3", "vpn.md", "VPN", "", {}),
)


def call(cost: int | None) -> ModelCall:
    return ModelCall("answer", "small", "answer@3", 1200, 80, 900.0, cost_micro_usd=cost)


def rows(trace: Trace, name: str) -> dict[str, str]:
    return next(
        (dict(group.rows) for group in figure_groups(trace, set()) if group.name == name), {}
    )


def trace(**more: object) -> Trace:
    return Trace(route=route(Intent.DOMAIN, "q"), **more)  # type: ignore[arg-type]  # a test's own


def test_bars_compare_within_a_column_and_what_was_not_measured_is_blank() -> None:
    first, second, third = passage_rows(FIGURE_PASSAGES)

    assert [(cell.figure, cell.bar) for cell in first.cells] == [
        ("5.00", 100),
        ("", None),
        ("1.00", 100),
    ]
    assert [cell.bar for cell in second.cells] == [None, 100, 50]
    assert [cell.bar for cell in third.cells] == [None, None, None]


def test_a_section_that_is_the_title_is_not_repeated() -> None:
    assert [row.section for row in passage_rows(FIGURE_PASSAGES)] == ["Error codes", "", ""]


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_column_without_anything_above_nothing_has_empty_bars(value: float) -> None:
    (row,) = passage_rows([FoundPassage("c", "p", "P", "", {"keyword": value})])

    assert row.cells[0].bar == 0


@pytest.mark.parametrize(
    ("push", "did", "side"),
    [
        (0.6, "clearly for", "for"),
        (0.1, "for", "for"),
        (0.0, "hardly matters", "neither"),
        (-0.1, "against", "against"),
        (-0.6, "clearly against", "against"),
    ],
)
def test_what_a_signal_did_is_said_in_a_word(push: float, did: str, side: str) -> None:
    (row,) = weight_rows([FeatureWeight("coverage_first", 0.25, push)], {"coverage_first": 0.5})

    assert (row.did, row.side) == (did, side)
    assert (row.cell.figure, row.cell.bar) == ("50%", 25)


def test_times_are_named_and_summed() -> None:
    times = rows(trace(timings_ms={"route": 0.4, "search": 40.0, "compose": 2000.0}), "Time")

    assert times == {
        "Understanding the question": "< 1 ms",
        "Searching": "40 ms",
        "Composing and checking": "2.0 s",
        "Total": "2.0 s",
    }


def test_calls_tell_model_tokens_prompt_and_cost() -> None:
    told = rows(trace(calls=(call(2100), call(2100))), "Language model")

    answer = "small: 1,200 tokens in, 80 tokens out, 900 ms (answer@3)"
    assert told == {"Composing the answer": answer, "Cost": "0.0042 USD"}


@pytest.mark.parametrize(
    ("calls", "cost"),
    [
        ((call(None),), "unknown: no price is set for this model"),
        ((call(2100), call(None)), "0.0021 USD, plus calls with unknown price"),
    ],
)
def test_a_cost_that_is_not_known_is_not_made_up(calls: tuple[ModelCall, ...], cost: str) -> None:
    assert rows(trace(calls=calls), "Language model")["Cost"] == cost


def test_without_a_model_nothing_is_said_to_have_cost_anything() -> None:
    assert rows(trace(), "Language model") == {"Calls": "none, so no cost"}


def test_remarks_and_the_route_are_there() -> None:
    shown = trace(notes=("the routing model did not answer",))

    assert rows(shown, "Remarks") == {"": "The routing model did not answer."}
    assert rows(shown, "Kind of question") == {
        "Interpreted as": "about the company",
        "Decided by": "fixed rule, 90% sure",
    }


SIGNAL_GATE = {
    feature.name for each in load_gate_file().calibrations.values() for feature in each.features
}
NEEDS_AN_EMBEDDER = {"composer_best_quote_cosine"}
SIGNAL_JARGON = {
    "chunk",
    "retriev",
    "gate",
    "threshold",
    "embedding",
    "vector",
    "token",
    "cosine",
    "bm25",
}
QUESTION = "What is the fee for error 809?"
SIGNAL_PASSAGES = [
    passage(
        "The fee for error 809 is 12 euros.",
        page=page,
        title="VPN",
        signals={"vector": 0.5, "keyword": 1.0, "tokens": 0.5, "fused": 1.0},
    )
    for page in ("one.md", "two.md")
]
ANSWER = answer_json(answer_part("The fee is 12 euros.", 1))


GLOSSARY = passage("| Short | Long |\n|---|---|\n| TOIL | Time off in lieu |", page="words.md")


async def signal_text(
    composer: Composer,
    question: str = QUESTION,
    passages: Sequence[Passage] = SIGNAL_PASSAGES,
) -> set[str]:
    composition = await composer.compose(question, passages)
    assert composition.claims
    return set(features(question, passages, composition, Vocabulary(10, {})))


def test_what_the_gate_weighs_has_a_name_and_a_phrase_for_when_it_is_poor() -> None:
    assert not [name for name in SIGNAL_GATE if name not in SIGNALS or not SIGNALS[name].against]


async def test_what_either_composer_and_the_search_tell_has_a_name_and_nothing_else_has() -> None:
    model = ScriptedModel(lambda _: ANSWER)
    known = await signal_text(ExtractiveComposer(None))
    known |= await signal_text(ExtractiveComposer(None), "what does TOIL mean", [GLOSSARY])
    known |= await signal_text(GroundedComposer(model, load_prompt("answer")))

    assert known | NEEDS_AN_EMBEDDER | {CAREFUL_RULE} == set(SIGNALS)


def test_without_a_passage_nothing_is_told_that_has_no_name() -> None:
    assert set(features("vpn?", [], Composition(claims=()), None)) <= set(SIGNALS)


def test_no_two_signals_have_one_name_and_none_has_to_be_explained() -> None:
    names = [signal.name for signal in SIGNALS.values()]
    words = " ".join([*names, *(signal.against for signal in SIGNALS.values())]).lower()

    assert len(set(names)) == len(names)
    assert not [each for each in SIGNAL_JARGON if each in words]


def test_a_signal_that_is_not_known_keeps_its_own_name() -> None:
    assert signal_of("brand_new").name == "Brand new"


@pytest.mark.parametrize(
    ("signal", "value", "text"),
    [
        (Signal("x", "share"), 0.256, "26%"),
        (Signal("x", "number"), 1.234, "1.23"),
        (Signal("x", "count"), 2.0, "2"),
        (Signal("x", "yes"), 1.0, "yes"),
        (Signal("x", "yes"), 0.0, "no"),
    ],
)
def test_figures_are_written_as_they_are_read(signal: Signal, value: float, text: str) -> None:
    assert format_signal(signal, value) == text


@pytest.mark.parametrize("prompt", ["answer", "answer_translated", "generic", "understand"])
def test_every_call_of_a_model_is_named_by_what_it_was_for(prompt: str) -> None:
    assert load_prompt(prompt).name in CALL_NAMES


@pytest.mark.parametrize(("used", "told_of"), [("hit", 1), ("saved", 0), ("miss", 0)])
def test_only_a_saved_answer_is_explained_as_one(
    used: Literal["hit", "saved", "miss"], told_of: int
) -> None:
    cache = CacheUse("k", used, NOON)
    trace = Trace(route=route(Intent.DOMAIN, "vpn"), passages=PASSAGES, cache=cache)
    steps = steps_of(Outcome(EVERY_RESPONSE[0], trace), (), private=True)
    said = [step.text for step in steps if step.label == "Saved answer"]

    assert len(said) == told_of
    assert all("12:00 UTC" in text for text in said)

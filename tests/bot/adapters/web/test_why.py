"""Why an answer, in words that need no explaining."""

from __future__ import annotations

import pytest

from bot.adapters.web.why import why_view
from bot.types import (
    Clarification,
    Escalation,
    EscalationReason,
    FoundPassage,
    Intent,
    Outcome,
    Reply,
    Response,
    Trace,
)
from tests.builders import route

JARGON = {"chunk", "retriev", "classifier", "gate", "threshold", "embedding", "vector", "token"}
PASSAGES = (
    FoundPassage("c1", "vpn.md", "VPN", "Error codes", {"keyword": 5.0, "fused": 1.0}),
    FoundPassage("c2", "vpn.md", "VPN", "", {"vector": 0.5, "fused": 0.5}),
)


def told(response: Response, intent: Intent = Intent.DOMAIN, **features: float) -> str:
    trace = Trace(
        route=route(intent, "vpn error 809"),
        passages=PASSAGES if intent in {Intent.DOMAIN, Intent.UNKNOWN} else (),
        features=features,
        threshold=0.65,
        notes=("the desk stopped on OperationalError",),
    )
    return " ".join(why_view(Outcome(response, trace)).steps)


def not_answered(reason: EscalationReason, confidence: float | None = 0.2) -> Escalation:
    return Escalation("Not sure.", reason, "vpn error 809", confidence=confidence)


EVERY_RESPONSE: list[Response] = [
    Reply("x", "found", confidence=0.8),
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
    assert "at 80%; I answer from 65% up." in told(Reply("x", "found", confidence=0.8))


def test_no_answer_tells_its_chance_and_what_is_needed() -> None:
    words = told(not_answered("low_confidence"))

    assert "at 20%. I answer only from 65% up" in words
    assert "2 closest passages, from 1 page." in words


def test_a_code_that_is_nowhere_is_named_as_the_reason() -> None:
    words = told(not_answered("low_confidence"), has_claims=1, uncovered_identifiers=1)

    assert "A number or code from your question is in none of them." in words
    assert "%" not in words


def test_a_pasted_log_is_not_repeated_in_full() -> None:
    pasted = Trace(route=route(Intent.DOMAIN, "error " * 500))

    steps = why_view(Outcome(Reply("x", "found"), pasted)).steps

    assert max(len(step) for step in steps) < 300


def test_pages_without_a_line_that_answers_are_named_as_the_reason() -> None:
    words = told(not_answered("low_confidence"), has_claims=0)

    assert "None of them has a line that answers it." in words


def test_nothing_is_said_of_searching_when_nothing_was_searched() -> None:
    assert "looked for \u201c" not in told(Reply("x", "generic"), Intent.GENERIC)


def test_notes_and_figures_are_behind_the_fold() -> None:
    view = why_view(Outcome(Reply("x", "found"), Trace(route=route(Intent.DOMAIN, "q"))))

    assert ("decided by", "a fixed rule, 0.90") in view.figures


def test_a_signal_that_was_not_measured_is_left_blank() -> None:
    trace = Trace(route=route(Intent.DOMAIN, "q"), passages=PASSAGES)
    view = why_view(Outcome(Reply("x", "found"), trace))

    assert view.signals == ("Same words", "Same meaning", "Together")
    assert view.passages[0].values == ("5.000", "", "1.000")

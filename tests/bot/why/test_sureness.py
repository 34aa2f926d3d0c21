"""How sure an answer was, in words and in numbers."""

from __future__ import annotations

import pytest

from bot.answering.explanations.steps import stated_confidence
from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Response, Trace
from bot.domain.messages import Intent
from tests.builders import route


def outcome(response: Response, threshold: float | None = 0.65, **features: float) -> Outcome:
    trace = Trace(route=route(Intent.DOMAIN, "q"), features=features, threshold=threshold)
    return Outcome(response, trace)


def unsure(confidence: float) -> Escalation:
    return Escalation("I'll ask.", "low_confidence", "q", confidence=confidence)


@pytest.mark.parametrize(
    ("response", "threshold", "words", "told", "needed"),
    [
        (unsure(0.2), 0.65, "not sure enough", "20%", "65%"),
        (unsure(0.649), 0.65, "not sure enough", "just under 65%", "65%"),
        (unsure(0.88), 0.9, "not sure enough", "88%", "90%"),
        (Reply("x", "found", confidence=0.65), 0.65, "fairly sure", "65%", "65%"),
        (Reply("x", "found", confidence=0.8), 0.65, "fairly sure", "80%", "65%"),
        (Reply("x", "answer", confidence=0.9), 0.65, "quite sure", "90%", "65%"),
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

"""A question for people that a button asks again."""

from __future__ import annotations

import pytest

from bot.domain.handoff import person_request
from bot.domain.interactions import Escalation, EscalationReason, Interaction, Outcome
from bot.domain.person_requests import asked_already, is_person_request
from tests.bot.adapters.outcomes import ANSWER, TRACE
from tests.builders import NOON, message

QUESTION = "How do I reset my badge?"


def interaction(text: str, outcome: Outcome | None = None) -> Interaction:
    asked = message(text)
    return Interaction(asked.interaction_id, asked, "done", NOON, outcome)


def handed(
    question: str, *, reason: EscalationReason = "asked_for_human", silent: bool = False
) -> Interaction:
    response = Escalation(text="Of course.", reason=reason, question=question)
    return interaction("yes", outcome=Outcome(response, TRACE, silent=silent))


ANSWERED = interaction(QUESTION, outcome=Outcome(ANSWER, TRACE))


def test_what_a_button_says_is_a_wish_and_what_people_write_is_none() -> None:
    assert is_person_request(message(person_request(QUESTION)))
    assert is_person_request(message(person_request("")))
    assert not is_person_request(message("yes"))


@pytest.mark.parametrize(
    ("about", "before", "is_repeated"),
    [
        (QUESTION, [ANSWERED, handed(f"{QUESTION}\nyes")], True),
        (QUESTION, [handed(QUESTION), ANSWERED], True),
        (QUESTION, [ANSWERED, handed(f"{QUESTION} And my key?")], False),
        (QUESTION, [ANSWERED, handed(QUESTION, reason="nothing_found")], False),
        (QUESTION, [handed(QUESTION, silent=True)], False),
        (QUESTION, [], False),
        ("", [ANSWERED, handed(f"{QUESTION}\nyes")], True),
        ("", [handed(QUESTION), ANSWERED], False),
        ("", [ANSWERED, interaction("still worked on")], False),
    ],
)
def test_a_wish_is_repeated_where_people_were_asked_the_same(
    about: str, before: list[Interaction], *, is_repeated: bool
) -> None:
    assert asked_already(message(person_request(about)), before) is is_repeated

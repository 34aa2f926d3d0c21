"""What can be pressed below a reply."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain.interactions import Clarification, Outcome, Reply, Response
from bot.domain.messages import InteractionId
from bot.platforms.teams.rendering.answers import buttons_of
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, OFFERED, TRACE

ID = InteractionId("6d1f0a52-0000-5000-9d0b-3f6f6e2f9a11")


def pressed(response: Response) -> list[tuple[str, str]]:
    """Return label and name of each button."""
    buttons: tuple[Any, ...] = buttons_of(Outcome(response, TRACE), ID)
    assert all(button["data"]["about"] == ID for button in buttons)
    return [(each["title"], each.get("verb") or each["data"]["name"]) for each in buttons]


def test_below_an_answer_are_a_person_and_the_reason() -> None:
    assert pressed(ANSWER) == [
        ("Ask a person", "frontdesk.person"),
        ("Why this answer", "frontdesk.why"),
    ]


def test_an_offer_is_accepted_with_a_button() -> None:
    assert pressed(OFFERED) == [
        ("Yes, ask a person", "frontdesk.person"),
        ("Why no answer", "frontdesk.why"),
    ]
    (yes, _) = buttons_of(Outcome(OFFERED, TRACE), ID)
    assert yes["style"] == "positive"


def test_a_question_that_went_to_people_is_explained() -> None:
    assert pressed(HANDED_OVER) == [("Why no answer", "frontdesk.why")]


def test_six_things_that_could_be_meant_are_buttons() -> None:
    options = ("VPN", "x" * 200, " ", "Wifi", "Phone", "Door", "Lift", "Car park")
    buttons: tuple[Any, ...] = buttons_of(
        Outcome(Clarification(text="Which?", options=options), TRACE), ID
    )
    assert [each["data"]["option"] for each in buttons] == [0, 1, 3, 4, 5, 6]
    assert all(each["verb"] == "frontdesk.option" for each in buttons)
    assert all(len(each["title"]) <= 75 for each in buttons)


@pytest.mark.parametrize(
    "response",
    [
        Reply(text="Hello!", tone="generic"),
        Reply(text="No.", tone="answer", refused=True),
        Clarification(text="Which?"),
    ],
)
def test_small_talk_and_refusals_have_nothing_to_press(response: Response) -> None:
    assert not pressed(response)

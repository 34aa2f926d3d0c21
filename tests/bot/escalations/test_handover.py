"""A hand-over promises only what happens."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.intent_rules import Rules, Ruling
from bot.domain.handoff import (
    HANDOFF_QUESTION,
    HandoffWording,
    as_ephemeral,
    people_channel,
    person_request,
    requested_question,
)
from bot.domain.interactions import Escalation, EscalationReason, Response
from bot.domain.messages import Intent, Message, Person, Platform, Thread
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, OFFERED, delivery

WORDING = HandoffWording(
    not_found="Not there.", uncertain="Not sure.", asks_people=frozenset({"slack"})
)
ASKED = Message(
    id="1",
    thread=Thread("slack", "acme", "C1", "1"),
    author=Person("U1"),
    text="vpn down?",
    received_at=datetime(2026, 7, 31, tzinfo=UTC),
)
REASONS = get_args(EscalationReason)
PLATFORMS = ("slack", "teams", "web", "rest", "cli")


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("reason", REASONS)
def test_people_have_been_asked_only_where_a_channel_shows_it_to_them(
    reason: EscalationReason, platform: Platform
) -> None:
    said = WORDING.text(reason, private=False, platform=platform)

    assert ("I've asked the people" in said) == (platform == "slack")


@pytest.mark.parametrize("reason", [each for each in REASONS if each != "asked_for_human"])
def test_in_private_a_person_is_offered_and_not_promised(reason: EscalationReason) -> None:
    text = WORDING.text(reason, private=True, platform="slack")

    assert HANDOFF_QUESTION in text
    assert "I've asked" not in text


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("reason", REASONS)
def test_what_one_person_alone_sees_asks_for_no_reply_and_promises_none_there(
    reason: EscalationReason, *, private: bool
) -> None:
    said = WORDING.text(reason, private=private, platform="slack")
    text = as_ephemeral(Escalation(said, reason=reason, question="vpn down?")).text

    assert "Reply" not in text
    assert "answer here" not in text
    assert ("answer you in a direct message" in text) == ("answer here" in said)


@given(st.text(max_size=6000))
def test_a_wish_about_any_question_asks_for_a_person_and_names_it(question: str) -> None:
    wish = person_request(question)

    assert requested_question(wish) == question.strip()
    assert Rules().decide(wish, ()) == Ruling(Intent.HUMAN)


def test_what_people_write_is_no_wish_of_a_button() -> None:
    assert requested_question("can I ask a person?") == requested_question("") == ""


def test_asking_for_a_person_is_consent() -> None:
    said = WORDING.text("asked_for_human", private=True, platform="slack")

    assert "I've asked the people" in said


@pytest.mark.parametrize("reason", REASONS)
def test_the_command_line_keeps_nothing_and_says_so(reason: EscalationReason) -> None:
    said = WORDING.text(reason, private=True, platform="cli")

    assert "list" not in said
    assert HANDOFF_QUESTION not in said
    assert "Please ask your help desk." in said


def test_what_is_not_in_the_pages_is_said_in_the_configured_words() -> None:
    said = WORDING.text("nothing_found", private=False, platform="web")

    assert said.startswith("Not there.")


def test_people_are_asked_where_the_channel_names_them_else_in_the_usual_place() -> None:
    named = replace(HANDED_OVER, people="C-network")

    assert people_channel(delivery(ASKED, HANDED_OVER), "C-help") == "C-help"
    assert people_channel(delivery(ASKED, named), "C-help") == "C-network"
    assert people_channel(delivery(ASKED, HANDED_OVER), None) is None


@pytest.mark.parametrize("response", [ANSWER, OFFERED])
def test_nobody_is_asked_before_a_hand_over_is_made(response: Response) -> None:
    assert people_channel(delivery(replace(ASKED, private=True), response), "C-help") is None


@pytest.mark.mended(id="teams-1")
@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("reason", REASONS)
def test_the_asker_is_told_what_people_see_of_the_conversation(
    reason: EscalationReason, *, private: bool
) -> None:
    alone, leaned = (
        WORDING.text(reason, private=private, platform="slack", leaned=leaned)
        for leaned in (False, True)
    )

    assert " see " in alone
    assert ("nothing else" in alone) is private
    assert len(leaned) > len(alone)

"""Tests of handing over to people: what is promised, who acts, and what a button asks again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.intent_rules import Rules, Ruling
from bot.domain.cases import actor_of, expert_of
from bot.domain.handoff import (
    HANDOFF_QUESTION,
    HandoffWording,
    as_ephemeral,
    asked_already,
    is_person_request,
    people_channel,
    person_request,
    requested_question,
)
from bot.domain.interactions import Escalation, EscalationReason, Interaction, Outcome, Response
from bot.domain.messages import Intent, Message, Person, Platform, Thread
from tests.fakes.builders import NOON, message
from tests.fakes.desk import ANSWER, HANDED_OVER, OFFERED, TRACE, delivery

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
def test_the_asker_is_told_what_people_see(reason: EscalationReason, *, private: bool) -> None:
    alone, leaned = (
        WORDING.text(reason, private=private, platform="slack", leaned=leaned)
        for leaned in (False, True)
    )

    assert " see " in alone
    assert ("nothing else" in alone) is private
    assert len(leaned) > len(alone)


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


def test_who_has_a_verified_address_is_known_by_it_and_keeps_their_id_here() -> None:
    anna = actor_of(Person("oidc-1", "Anna Lopez", email="Anna@Acme.example"), "expert")
    assert (anna.id, anna.name, anna.role) == ("anna@acme.example", "Anna Lopez", "expert")
    assert anna.has("anna@acme.example")
    assert anna.has("oidc-1")
    assert not anna.has("oidc-2")
    assert not anna.has("")


def test_who_has_none_is_known_by_their_id() -> None:
    visitor = actor_of(Person("visitor-1"), "asker", name="Somebody")
    assert (visitor.id, visitor.name, visitor.also) == ("visitor-1", "Somebody", frozenset())


def test_the_same_person_is_the_same_actor_on_any_platform() -> None:
    web = actor_of(Person("oidc-1", "Anna", email="anna@acme.example"), "expert")
    slack = actor_of(Person("slack:U1", "Anna", email="ANNA@acme.example"), "expert")
    assert web == slack


def test_an_expert_is_known_by_their_address_and_by_their_ids_on_the_platform() -> None:
    actor = expert_of("teams", Person("object-id", "Anna", "Anna@acme.example"))
    assert actor.id == "anna@acme.example"
    assert all(map(actor.has, ("teams:object-id", "object-id")))


def test_an_expert_without_an_address_is_known_by_their_platforms_id() -> None:
    actor = expert_of("teams", Person("object-id", "Anna"))
    assert (actor.id, actor.role) == ("teams:object-id", "expert")
    assert actor.has("object-id"), "they may have asked it themselves"

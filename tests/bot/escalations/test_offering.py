"""What is offered can be done, and what is said of a case is so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest

from bot.domain.cases import Actor, CaseStatus, CaseStep, State, Step
from bot.escalations.case_view import (
    CaseView,
    buttons_for_asker,
    buttons_for_people,
    last_act,
    state_since,
    status_text,
    view_of_delivery,
)
from bot.escalations.lifecycle import after, is_change
from tests.bot.adapters.outcomes import HANDED_OVER, delivery
from tests.bot.escalations.fakes import ANNA, case_of
from tests.builders import NOON, message

ASKED = message("vpn?", platform="slack", private=False)
ASKER = Actor(ASKED.author.id, "Mika", "asker")
OWNED = ("claimed", "answered", "resolved", "declined")


def standing(state: State) -> CaseStatus:
    return CaseStatus(state, ANNA.id, ANNA.name) if state in OWNED else CaseStatus(state)


def step(what: Step, actor: Actor | None = ANNA) -> CaseStep:
    return CaseStep(ASKED.interaction_id, 2, what, actor, "", NOON)


def view(state: State, *steps: CaseStep, **changes: object) -> CaseView:
    case = case_of(ASKED, standing=standing(state), **changes)
    return CaseView(case=case, steps=steps, finding=None, before=())


@pytest.mark.parametrize("state", get_args(State))
def test_whoever_has_it_can_do_all_that_is_offered(state: State) -> None:
    for offer in buttons_for_people(state):
        then = after(standing(state), offer.act, ANNA, is_asker=False)
        assert is_change(offer.act, standing(state), then)


@pytest.mark.parametrize("state", get_args(State))
def test_an_asker_can_do_all_that_they_are_offered(state: State) -> None:
    offers = buttons_for_asker(state)
    assert offers
    for offer in offers:
        then = after(standing(state), offer.act, ASKER, is_asker=True)
        assert is_change(offer.act, standing(state), then)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("open", "Waits for somebody"),
        ("reopened", "Opened again, nobody has it"),
        ("claimed", "Claimed by Anna Lopez"),
        ("answered", "Answered by Anna Lopez"),
        ("resolved", "Resolved by Anna Lopez"),
        ("declined", "Declined by Anna Lopez"),
    ],
)
def test_it_is_said_how_it_stands_and_by_whom(state: State, said: str) -> None:
    assert status_text(view(state)) == said


def test_an_asker_who_closed_it_is_not_taken_for_who_had_it() -> None:
    closed = view("resolved", step("reply"), step("resolve", ASKER), step("ping", None))
    assert status_text(closed) == "Closed by the one who asked"


def test_what_waits_does_so_since_it_came() -> None:
    later = NOON + timedelta(hours=1)
    assert state_since(view("open", changed_at=later).case) == NOON
    assert state_since(view("claimed", changed_at=later).case) == later


def test_to_ask_and_to_remind_are_no_acts() -> None:
    assert last_act((step("open"), step("claim"), step("ping", None))) == step("claim")
    assert last_act((step("open"), step("ping", None))) is None


def test_without_its_case_a_question_is_shown_as_it_came() -> None:
    bare = view_of_delivery(delivery(ASKED, HANDED_OVER))
    assert (bare.case.question, bare.case.standing.state) == (HANDED_OVER.question, "open")
    assert bare.finding is not None
    assert bare.finding.suggestions == HANDED_OVER.suggestions


def test_then_pages_found_in_private_are_left_out() -> None:
    bare = view_of_delivery(delivery(replace(ASKED, private=True), HANDED_OVER))
    assert bare.finding is not None
    assert bare.finding.suggestions == ()

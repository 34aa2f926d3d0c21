"""Tests of the rules of a case's life, tried in every order."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import get_args

import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bot.domain.cases import Act, Actor, CaseStatus, State
from bot.domain.errors import ActRefused, EscalationTaken
from bot.domain.texts import load_catalogue
from bot.escalations.lifecycle import (
    ASKERS_ACTS,
    OWNED,
    REPEATABLE_ACTS,
    SETTLED,
    UNNAMED_PERSON,
    UNSETTLED,
    WAITING,
    ReminderSchedule,
    after,
    display_name,
    is_change,
    recipients_of,
)
from tests.fakes.builders import NOON

ANNA = Actor("u1", "Anna", "expert")
BEN = Actor("u2", "Ben", "expert")
CLEO = Actor("u3", "Cleo", "asker")
STRANGER = Actor("u4", "Dan", "asker")
ASKING_EXPERT = Actor("u3", "Cleo", "expert")

OPEN = CaseStatus("open")
REOPENED = CaseStatus("reopened")
CLAIMED = CaseStatus("claimed", "u1", "Anna")
ANSWERED = CaseStatus("answered", "u1", "Anna")
RESOLVED = CaseStatus("resolved", "u1", "Anna")
DECLINED = CaseStatus("declined", "u1", "Anna")
TAKEN = "It is assigned to Anna. Leave it to them or ask them to release it."


def does(status: CaseStatus, act: Act, actor: Actor) -> CaseStatus:
    return after(status, act, actor, is_asker=actor.id == CLEO.id, to=BEN)


@pytest.mark.parametrize(
    ("status", "act", "actor", "then"),
    [
        (OPEN, "claim", ANNA, CLAIMED),
        (REOPENED, "claim", ANNA, CLAIMED),
        (CLAIMED, "claim", ANNA, CLAIMED),
        (ANSWERED, "claim", ANNA, ANSWERED),
        (CLAIMED, "release", ANNA, OPEN),
        (ANSWERED, "release", ANNA, OPEN),
        (REOPENED, "release", BEN, REOPENED),
        (OPEN, "assign", ANNA, CaseStatus("claimed", "u2", "Ben")),
        (CLAIMED, "assign", ANNA, CaseStatus("claimed", "u2", "Ben")),
        (ANSWERED, "assign", ANNA, CaseStatus("claimed", "u2", "Ben")),
        (OPEN, "note", ANNA, OPEN),
        (CLAIMED, "note", BEN, CLAIMED),
        (RESOLVED, "note", BEN, RESOLVED),
        (ANSWERED, "amend", ANNA, ANSWERED),
        (ANSWERED, "retract", ANNA, CLAIMED),
        (ANSWERED, "retract", BEN, ANSWERED),
        (RESOLVED, "retract", ANNA, RESOLVED),
        (OPEN, "reply", ANNA, ANSWERED),
        (REOPENED, "reply", ANNA, ANSWERED),
        (CLAIMED, "reply", ANNA, ANSWERED),
        (ANSWERED, "reply", ANNA, ANSWERED),
        (OPEN, "resolve", ANNA, RESOLVED),
        (CLAIMED, "resolve", ANNA, RESOLVED),
        (ANSWERED, "resolve", ANNA, RESOLVED),
        (ANSWERED, "resolve", CLEO, RESOLVED),
        (ANSWERED, "resolve", ASKING_EXPERT, RESOLVED),
        (OPEN, "resolve", CLEO, CaseStatus("resolved")),
        (RESOLVED, "resolve", BEN, RESOLVED),
        (OPEN, "decline", ANNA, DECLINED),
        (REOPENED, "decline", ANNA, DECLINED),
        (CLAIMED, "decline", ANNA, DECLINED),
        (DECLINED, "decline", BEN, DECLINED),
        (ANSWERED, "reopen", CLEO, REOPENED),
        (RESOLVED, "reopen", CLEO, REOPENED),
        (DECLINED, "reopen", CLEO, REOPENED),
        (RESOLVED, "reopen", BEN, REOPENED),
        (OPEN, "reopen", CLEO, OPEN),
        (REOPENED, "reopen", BEN, REOPENED),
    ],
)
def test_what_may_be_done(status: CaseStatus, act: Act, actor: Actor, then: CaseStatus) -> None:
    assert does(status, act, actor) == then


@pytest.mark.parametrize("status", [CLAIMED, ANSWERED], ids=lambda each: each.state)
@pytest.mark.parametrize("act", ["claim", "release", "assign", "reply", "resolve", "decline"])
def test_who_comes_second_is_told_who_has_it(status: CaseStatus, act: Act) -> None:
    with pytest.raises(EscalationTaken, match=re.escape(TAKEN)) as refused:
        does(status, act, BEN)

    assert refused.value.owner_name == "Anna"


@pytest.mark.parametrize(
    ("status", "act", "actor", "words"),
    [
        (RESOLVED, "claim", BEN, "Anna has already resolved it. Reopen it first."),
        (RESOLVED, "assign", ANNA, "Anna has already resolved it. Reopen it first."),
        (RESOLVED, "reply", ANNA, "Anna has already resolved it. Reopen it first."),
        (DECLINED, "resolve", ANNA, "Anna has already declined it. Reopen it first."),
        (DECLINED, "resolve", CLEO, "Anna has already declined it. Reopen it first."),
        (RESOLVED, "decline", ANNA, "Anna has already resolved it. Reopen it first."),
        (CaseStatus("resolved"), "release", ANNA, "It has already been resolved. Reopen it first."),
        (
            ANSWERED,
            "decline",
            ANNA,
            "You have already answered it. Resolve it, or release it for others",
        ),
        (
            CLAIMED,
            "reopen",
            ANNA,
            "It is assigned to you. Release it if someone else should take it.",
        ),
        (
            CLAIMED,
            "reopen",
            BEN,
            "Anna is working on it and has not replied yet. Ask them to release it.",
        ),
        (CLAIMED, "reopen", CLEO, "Anna is working on your question. Close it if"),
        (OPEN, "claim", CLEO, "Only experts can do this. You can close or reopen your question"),
        (
            OPEN,
            "resolve",
            Actor("", "Eve", "expert"),
            "You are not signed in. Sign in and try again",
        ),
    ],
)
def test_what_may_not_be_done_is_said_with_what_can(
    status: CaseStatus, act: Act, actor: Actor, words: str
) -> None:
    with pytest.raises(ActRefused, match=re.escape(words)):
        does(status, act, actor)


@pytest.mark.parametrize("status", [OPEN, CLAIMED, ANSWERED, RESOLVED, DECLINED, REOPENED])
@pytest.mark.parametrize("act", get_args(Act))
def test_a_stranger_does_nothing_at_all(status: CaseStatus, act: Act) -> None:
    with pytest.raises(ActRefused, match="Only the asker and"):
        does(status, act, STRANGER)


@pytest.mark.parametrize(
    ("act", "by_expert"),
    [
        ("claim", ("asker", "people")),
        ("release", ("people",)),
        ("assign", ("asker", "people")),
        ("note", ("people",)),
        ("amend", ("asker", "people")),
        ("retract", ("asker", "people")),
        ("reply", ("asker", "people")),
        ("resolve", ("asker", "people")),
        ("decline", ("asker", "people")),
        ("reopen", ("asker", "people")),
    ],
)
def test_people_see_every_act_and_the_asker_is_told_of_others(
    act: Act, by_expert: tuple[str, ...]
) -> None:
    assert recipients_of(act, is_asker=True) == ("people",)
    assert recipients_of(act, is_asker=False) == by_expert


def test_an_owner_is_known_by_an_earlier_id_of_theirs() -> None:
    had = CaseStatus("claimed", "oidc-1", "Anna")
    anna = Actor("anna@acme.example", "Anna", "expert", frozenset({"oidc-1"}))
    assert does(had, "release", anna) == CaseStatus("open")
    assert does(had, "reply", anna).owner_id == "anna@acme.example"
    with pytest.raises(ActRefused, match="It is assigned to you"):
        does(had, "reopen", anna)
    with pytest.raises(EscalationTaken):
        does(had, "release", BEN)


def test_every_state_is_of_one_kind() -> None:
    assert set(get_args(State)) == WAITING | OWNED | SETTLED
    assert len(WAITING) + len(OWNED) + len(SETTLED) == len(get_args(State))
    assert set(get_args(State)) - SETTLED == UNSETTLED


def test_a_name_is_shown_on_one_line_and_never_missing() -> None:
    assert display_name(" Anna\nLopez ") == "Anna Lopez"
    assert display_name(" ") == UNNAMED_PERSON
    assert len(display_name("a" * 500)) <= 81


def test_reminders_come_at_even_distances_until_there_were_enough() -> None:
    reminders = ReminderSchedule(timedelta(minutes=10), most=2)

    assert reminders.due(NOON) == NOON + timedelta(minutes=10)
    assert reminders.due(NOON, pings=1) == NOON + timedelta(minutes=10)
    assert reminders.due(NOON, pings=2) is None
    assert ReminderSchedule(timedelta(0)).due(NOON) is None
    assert ReminderSchedule(most=0).due(NOON) is None


EXPERTS = st.sampled_from([ANNA, BEN, ASKING_EXPERT])
ANYBODY = st.sampled_from([ANNA, BEN, CLEO, STRANGER, ASKING_EXPERT])
ACTS: st.SearchStrategy[Act] = st.sampled_from(get_args(Act))


class Lives(RuleBasedStateMachine):
    """Whatever is tried by whoever in whatever order."""

    @initialize()
    def begin(self) -> None:
        self.status = OPEN
        self.answered = False

    def attempt(self, act: Act, actor: Actor) -> None:
        before = self.status
        try:
            self.status = does(before, act, actor)
        except ActRefused as refused:
            self.is_fair(refused, actor)
        else:
            self.holds(act, actor, before)

    def is_fair(self, refused: ActRefused, actor: Actor) -> None:
        assert str(refused)
        if isinstance(refused, EscalationTaken):
            assert self.status.state in OWNED
            assert self.status.owner_id != actor.id
            assert refused.owner_name == self.status.owner_name

    def holds(self, act: Act, actor: Actor, before: CaseStatus) -> None:
        then = self.status
        assert actor != STRANGER
        assert actor.role == "expert" or act in ASKERS_ACTS
        if before.state in SETTLED and then != before:
            assert act == "reopen"
        if before.state in OWNED and actor.id not in {before.owner_id, CLEO.id}:
            assert act == "reopen" or then == before
        if act == "reply":
            self.answered = True
        elif then.state != before.state and then.state in WAITING:
            self.answered = False
        assert is_change(act, before, then) is (act in REPEATABLE_ACTS or then != before)

    @rule(act=ACTS, actor=ANYBODY)
    def anything(self, act: Act, actor: Actor) -> None:
        self.attempt(act, actor)

    @rule(act=ACTS, actor=EXPERTS)
    def twice(self, act: Act, actor: Actor) -> None:
        self.attempt(act, actor)
        first = self.status
        self.attempt(act, actor)
        assert self.status == first

    @rule(first=EXPERTS, second=EXPERTS)
    def two_at_once(self, first: Actor, second: Actor) -> None:
        assume(self.status.state in WAITING and first.id != second.id)
        self.attempt("claim", first)
        with pytest.raises(EscalationTaken):
            does(self.status, "claim", second)
        assert self.status.owner_id == first.id

    @invariant()
    def an_owner_is_there_exactly_where_one_is_needed(self) -> None:
        status = getattr(self, "status", OPEN)
        if status.state in WAITING:
            assert (status.owner_id, status.owner_name) == ("", "")
        if status.state in OWNED:
            assert status.owner_id in {ANNA.id, BEN.id, ASKING_EXPERT.id}

    @invariant()
    def it_is_answered_only_after_a_reply(self) -> None:
        if getattr(self, "status", OPEN).state == "answered":
            assert self.answered


Lives.TestCase.settings = settings(stateful_step_count=30)
TestLives = Lives.TestCase


@pytest.mark.parametrize("kept", ["Help desk", "The help desk"])
def test_an_expert_without_a_name_is_called_so_in_german(kept: str) -> None:
    shown = display_name(kept)
    assert shown == kept
    assert load_catalogue("de").default.text(shown) != kept

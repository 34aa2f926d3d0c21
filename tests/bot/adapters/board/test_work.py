from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.permitted_views import SearchFinding
from bot.domain.cases import Actor, Case, CaseStatus, CaseStep, State
from bot.domain.errors import ActRefused
from bot.domain.interactions import EscalationReason
from bot.domain.messages import InteractionId
from bot.escalations.case_view import CaseView
from bot.escalations.lifecycle import after
from bot.web.board.case_view import ACTS, allowed_acts, case_page_view
from bot.web.board.escalations import case_lines, empty_text, queue_query, tab_of
from tests.bot.adapters.outcomes import VPN
from tests.builders import NOON

ANNA = Actor("anna", "Anna Lopez", "expert")
CASE = Case(
    interaction_id=InteractionId("i1"),
    tenant="default",
    standing=CaseStatus("open"),
    reason="nothing_found",
    question="Where?",
    asker_id="mika",
    asker_name="",
    channel="slack:C1",
    private=False,
    opened_at=NOON,
    changed_at=NOON,
)
STATES: list[State] = ["open", "claimed", "answered", "resolved", "declined", "reopened"]
HALF_AN_HOUR = timedelta(minutes=30)


def standing(state: State, owner: str = "") -> Case:
    return replace(CASE, standing=CaseStatus(state, owner, owner.title()))


@given(
    st.sampled_from(STATES), st.sampled_from(["", "anna", "ben"]), st.sampled_from(["mika", "anna"])
)
def test_what_is_offered_can_be_done_and_changes_something(
    state: State, owner: str, asker: str
) -> None:
    case = replace(standing(state, owner), asker_id=asker)

    for act in allowed_acts(case, ANNA):
        then = after(case.standing, act, ANNA, is_asker=asker == "anna")
        assert act == "reply" or then != case.standing


@given(st.sampled_from(STATES), st.sampled_from(["", "anna", "ben"]))
def test_what_is_not_offered_is_refused_or_changes_nothing(state: State, owner: str) -> None:
    case = standing(state, owner)

    for act in {*ACTS} - allowed_acts(case, ANNA) - {"reopen"}:
        try:
            assert after(case.standing, act, ANNA, is_asker=False) == case.standing
        except ActRefused:
            continue


@pytest.mark.mended(id="slack-2")
def test_who_is_no_colleague_is_marked_in_the_list_and_on_the_page() -> None:
    case = replace(CASE, asker_name="Olga Other", outsider="other company")

    (line,) = case_lines([case], NOON, HALF_AN_HOUR)
    shown = case_page_view(CaseView(case, (), None, ()), ANNA, NOON, HALF_AN_HOUR)
    assert line.who == shown.who == "Olga Other (other company)"


def test_what_one_has_is_released_not_reopened() -> None:
    assert "reopen" not in allowed_acts(standing("answered", "anna"), ANNA)
    assert "reopen" in allowed_acts(standing("resolved", "anna"), ANNA)
    assert "reopen" in allowed_acts(standing("answered", "ben"), ANNA)


def test_a_reminder_is_nobodys_act_and_the_asker_is_named_as_the_platform_names_them() -> None:
    asker = Actor("mika", "", "asker")
    steps = (
        CaseStep(CASE.interaction_id, 1, "open", asker, "", NOON),
        CaseStep(CASE.interaction_id, 2, "ping", None, "", NOON),
        CaseStep(CASE.interaction_id, 3, "claim", Actor("ben", " ", "expert"), "", NOON),
    )

    view = case_page_view(CaseView(CASE, steps, None, ()), ANNA, NOON, HALF_AN_HOUR)

    assert [(step.who, step.did) for step in view.steps] == [
        ("mika", "asked"),
        ("", "People were reminded"),
        ("Somebody at the help desk", "claimed it"),
    ]
    assert view.finding is None


@pytest.mark.mended(id="ux-5")
@pytest.mark.parametrize("reason", ["asked_for_human", "unavailable"])
@pytest.mark.parametrize(("gate", "told"), [("stopped", False), ("", True)])
def test_it_says_that_nothing_was_looked_up_only_where_that_is_so(
    reason: EscalationReason, gate: str, *, told: bool
) -> None:
    case = replace(CASE, reason=reason)
    found = SearchFinding(InteractionId("i0"), "Where?", gate, 0.24 if gate else None, 0.65)

    view = case_page_view(CaseView(case, (), found, ()), ANNA, NOON, HALF_AN_HOUR)

    assert view.finding is not None
    said = " ".join(view.finding.reasons)
    assert ("othing was looked up" in said) is told
    assert ("24%" in said) is not told


@pytest.mark.mended(id="ux-5")
@pytest.mark.parametrize(("quote", "goes_on"), [("Ask at the", True), ("Ask at 12.", False)])
def test_a_quote_that_ends_within_a_sentence_says_so(quote: str, *, goes_on: bool) -> None:
    found = SearchFinding(
        InteractionId("i1"), "Where?", "", None, None, (replace(VPN, quote=quote),)
    )

    view = case_page_view(CaseView(CASE, (), found, ()), ANNA, NOON, HALF_AN_HOUR)

    assert view.finding is not None
    assert ("\u2026" in view.finding.pages[0].quote) is goes_on


@pytest.mark.parametrize(
    ("state", "minutes", "patience", "late"),
    [
        ("open", 31, HALF_AN_HOUR, True),
        ("reopened", 31, HALF_AN_HOUR, True),
        ("open", 30, HALF_AN_HOUR, False),
        ("open", 31, timedelta(0), False),
        ("claimed", 31, HALF_AN_HOUR, False),
        ("resolved", 31, HALF_AN_HOUR, False),
    ],
)
def test_only_what_waits_too_long_is_late(
    state: State, minutes: int, patience: timedelta, *, late: bool
) -> None:
    (line,) = case_lines([standing(state)], NOON + timedelta(minutes=minutes), patience)

    assert line.late is late


@pytest.mark.parametrize(
    ("state", "owner", "label"),
    [
        ("open", "", "Waiting, less than a minute"),
        ("reopened", "", "Waiting again, less than a minute"),
        ("claimed", "ben", "Claimed by Ben"),
        ("resolved", "", "Resolved"),
    ],
)
def test_a_line_says_how_a_case_stands(state: State, owner: str, label: str) -> None:
    (line,) = case_lines([standing(state, owner)], NOON - timedelta(hours=1), HALF_AN_HOUR)

    assert line.label == label


def test_an_unknown_tab_is_the_first_and_only_ones_own_is_bound_to_a_person() -> None:
    assert tab_of("nonsense").name == "waiting"
    assert queue_query(tab_of("mine"), "", "anna").owner_id == "anna"
    assert queue_query(tab_of("claimed"), "", "anna").owner_id == ""
    assert queue_query(tab_of("settled"), "", "anna").newest_first
    assert not queue_query(tab_of("waiting"), "", "anna").newest_first
    assert empty_text(tab_of("all"), "words") != empty_text(tab_of("all"), "")

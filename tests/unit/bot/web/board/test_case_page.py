"""Tests of working on one case, and of what the board shows and offers for it."""

from __future__ import annotations

import asyncio
import html
import re
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.permitted_views import SearchFinding
from bot.domain.cases import Actor, Case, CaseStatus, CaseStep, State
from bot.domain.errors import ActRefused, StoreUnavailable
from bot.domain.interactions import Escalation, EscalationReason
from bot.domain.messages import InteractionId
from bot.escalations.case_view import CaseView
from bot.escalations.lifecycle import after, is_change
from bot.store.database import Store
from bot.web.board.case_page_view import PAGE_ACTS, allowed_acts, case_page_view
from bot.web.board.escalations import case_lines, empty_text, queue_query, tab_of
from tests.fakes.board_app import CLOSED, SECRET, TOLD_ALL, TRACE, BoardBrowser, TwoPageIndex, ask
from tests.fakes.builders import NOON
from tests.fakes.desk import VPN

ANNA = Actor("anna", "Anna Lopez", "expert")
BEN = Actor("ben", "Ben Okafor", "expert")
CASE = Case(
    interaction_id=InteractionId("i1"),
    tenant="default",
    status=CaseStatus("open"),
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


def case_status(state: State, owner: str = "") -> Case:
    return replace(CASE, status=CaseStatus(state, owner, owner.title()))


@given(
    st.sampled_from(STATES), st.sampled_from(["", "anna", "ben"]), st.sampled_from(["mika", "anna"])
)
def test_what_is_offered_can_be_done_and_matters(state: State, owner: str, asker: str) -> None:
    case = replace(case_status(state, owner), asker_id=asker)

    for act in allowed_acts(case, ANNA):
        then = after(case.status, act, ANNA, is_asker=asker == "anna", to=BEN)
        assert is_change(act, case.status, then)


@given(st.sampled_from(STATES), st.sampled_from(["", "anna", "ben"]))
def test_what_is_not_offered_is_refused_or_changes_nothing(state: State, owner: str) -> None:
    case = case_status(state, owner)

    for act in {*PAGE_ACTS} - allowed_acts(case, ANNA) - {"reopen"}:
        try:
            assert after(case.status, act, ANNA, is_asker=False, to=BEN) == case.status
        except ActRefused:
            continue


@pytest.mark.mended(id="slack-2")
def test_who_is_no_colleague_is_marked_in_the_list_and_on_the_page() -> None:
    case = replace(CASE, asker_name="Olga Other", outsider="other company")

    (line,) = case_lines([case], NOON, HALF_AN_HOUR)
    shown = case_page_view(CaseView(case, (), None, ()), ANNA, NOON, HALF_AN_HOUR)
    assert line.who == shown.who == "Olga Other (other company)"


def test_what_one_has_is_released_not_reopened() -> None:
    assert "reopen" not in allowed_acts(case_status("answered", "anna"), ANNA)
    assert "reopen" in allowed_acts(case_status("resolved", "anna"), ANNA)
    assert "reopen" in allowed_acts(case_status("answered", "ben"), ANNA)


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
        ("", "A reminder was sent"),
        ("Someone at the help desk", "claimed it"),
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
    assert ("othing was searched" in said) is told
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
    (line,) = case_lines([case_status(state)], NOON + timedelta(minutes=minutes), patience)

    assert line.late is late


@pytest.mark.parametrize(
    ("state", "owner", "label"),
    [
        ("open", "", "Waiting, less than a minute"),
        ("reopened", "", "Reopened, less than a minute"),
        ("claimed", "ben", "Claimed by Ben"),
        ("resolved", "", "Resolved"),
    ],
)
def test_a_line_says_how_a_case_stands(state: State, owner: str, label: str) -> None:
    (line,) = case_lines([case_status(state, owner)], NOON - timedelta(hours=1), HALF_AN_HOUR)

    assert line.label == label


def test_an_unknown_tab_is_the_first_and_only_ones_own_is_bound_to_a_person() -> None:
    assert tab_of("nonsense").name == "waiting"
    assert queue_query(tab_of("mine"), "", "anna").owner_id == "anna"
    assert queue_query(tab_of("claimed"), "", "anna").owner_id == ""
    assert queue_query(tab_of("settled"), "", "anna").newest_first
    assert not queue_query(tab_of("waiting"), "", "anna").newest_first
    assert empty_text(tab_of("all"), "words") != empty_text(tab_of("all"), "")


ACT = re.compile(r'name="act" value="(\w+)"')


def offered(page: str) -> set[str]:
    """Return the acts that a page offers."""
    return set(ACT.findall(page))


async def path_of(store: Store, **more: object) -> str:
    return f"/board/escalations/{(await ask(store, **more)).id}"  # type: ignore[arg-type]  # as ask takes them


def id_of(path: str) -> InteractionId:
    return InteractionId(path.rpartition("/")[2])


async def test_a_waiting_case_shows_what_is_known_and_what_may_be_done(desk: BoardBrowser) -> None:
    page = await desk.get(await path_of(desk.store))

    assert "vpn 809?" in page
    assert "Mika Salo" in page
    assert "Slack, channel C1" in page
    assert 'href="https://slack.example/C1/m1"' in page
    assert "Not confident enough" in page
    assert "Confidence 20%, below the threshold of 65%." in page
    assert "VPN guide" in page
    assert "1 more that you can't read" in page
    assert offered(page) == {"claim", "reply", "resolve", "decline", "note"}


async def test_a_page_that_an_expert_may_not_read_is_nowhere_on_the_page(
    desk: BoardBrowser, store: Store
) -> None:
    await ask(store, "before", "why?", response=TOLD_ALL)
    path = await path_of(store)

    for words in (SECRET, CLOSED.section, CLOSED.text, CLOSED.page_id):
        assert words not in html.unescape(await desk.get(path))
    assert SECRET in await desk.of("ines").get(path)


async def test_claim_reply_resolve(desk: BoardBrowser, store: Store) -> None:
    path = await path_of(store)

    claimed = await desk.post(path, act="claim")
    assert "Assigned to you" in claimed
    assert offered(claimed) == {"reply", "resolve", "release", "decline", "note"}

    answered = await desk.post(path, act="reply", reply="Use the blue\nsocket.")
    assert "Use the blue\nsocket." in answered
    assert "Your reply is being sent to Mika Salo." in answered
    assert offered(answered) == {"reply", "resolve", "release", "note"}

    resolved = await desk.post(path, act="resolve")
    assert "Resolved by Anna Lopez" in resolved
    assert offered(resolved) == {"reopen", "note"}
    steps = await store.escalations.steps("default", id_of(path))
    assert [step.step for step in steps] == ["open", "claim", "reply", "resolve"]
    assert steps[2].actor is not None
    assert (steps[2].actor.id, steps[2].actor.name, steps[2].actor.role) == (
        "anna",
        "Anna Lopez",
        "expert",
    )


async def test_it_is_given_to_one_who_answered_here_before_with_the_reason(
    desk: BoardBrowser, store: Store
) -> None:
    await desk.of("ben").post(await path_of(store, name="m2", text="printer?"), act="claim")
    path = await path_of(store)

    given = await desk.post(path, act="assign", to="ben", why="He knows sockets.")

    assert "assigned it to Ben Okafor" in given
    assert "He knows sockets." in given
    case = await store.escalations.get("default", id_of(path))
    assert case is not None
    assert (case.status.state, case.status.owner_name) == ("claimed", "Ben Okafor")


async def test_it_is_given_to_nobody_who_is_not_known(desk: BoardBrowser, store: Store) -> None:
    path = await path_of(store)

    refused = await desk.post(path, 409, act="assign", to="eve@else.example", why="Please.")

    assert "eve@else.example” has not answered anything here yet." in refused
    case = await store.escalations.get("default", id_of(path))
    assert case is not None
    assert case.status.state == "open"


async def test_a_note_is_kept_once_however_often_its_form_is_sent(
    desk: BoardBrowser, store: Store
) -> None:
    path = await path_of(store)

    for _ in range(2):
        assert "Seen before." in await desk.post(path, act="note", note="Seen before.")

    steps = await store.escalations.steps("default", id_of(path))
    assert [(step.step, step.text) for step in steps][1:] == [("note", "Seen before.")]


async def test_who_has_no_name_acts_as_the_help_desk(desk: BoardBrowser, store: Store) -> None:
    path = await path_of(store)

    await desk.of("nameless").post(path, act="claim")

    assert "Assigned to Help desk." in await desk.get(path)


async def test_who_comes_second_is_told_who_has_it_and_keeps_the_text(desk: BoardBrowser) -> None:
    path = await path_of(desk.store)
    await desk.of("ben").post(path, act="claim")

    refused = await desk.post(path, 409, act="reply", reply="Use the <blue> socket.")

    assert "It is assigned to Ben Okafor." in refused
    assert "Use the &lt;blue&gt; socket." in refused
    assert "Your text; it has not been sent" in refused
    assert offered(refused) == {"note"}


async def test_of_two_at_once_one_has_it_and_the_other_is_told(desk: BoardBrowser) -> None:
    path = await path_of(desk.store)
    origin = str(desk.client.make_url("/")).rstrip("/")

    async def claim(who: str) -> tuple[int, str]:
        headers = {"X-Who": who, "Origin": origin, "HX-Request": "true", "Accept": "text/html"}
        response = await desk.client.post(path, data={"act": "claim"}, headers=headers)
        return response.status, await response.text()

    told = dict(await asyncio.gather(claim("anna"), claim("ben")))

    assert set(told) == {200, 409}
    assert "Assigned to you" in told[200]
    assert re.search(r"assigned to (Anna Lopez|Ben Okafor)", told[409])


async def test_a_text_is_kept_whatever_else_is_done(desk: BoardBrowser, store: Store) -> None:
    path = await path_of(store)

    for act in ("look", "claim", "release"):
        assert "half a sentence" in await desk.post(path, act=act, reply="half a sentence")


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"act": "reply", "reply": " \n "}, "The reply is empty."),
        ({"act": "reply", "reply": "x" * 4001}, "4,001 characters"),
        ({"act": "decline", "reason": ""}, "Enter a reason. It is sent to the asker"),
        ({"act": "release"}, ""),
    ],
    ids=lambda given: str(given)[:20],
)
async def test_what_cannot_be_done_changes_nothing(
    desk: BoardBrowser, store: Store, form: dict[str, str], told: str
) -> None:
    path = await path_of(store)
    status = 200 if not told else 409

    said = {"reply": "", "reason": "", **form}
    page = await desk.post(
        path, status, act=said["act"], reply=said["reply"], reason=said["reason"]
    )
    assert told in html.unescape(page)

    assert len(await store.escalations.steps("default", id_of(path))) == 1


async def test_declining_tells_the_reason(desk: BoardBrowser, store: Store) -> None:
    path = await path_of(store)

    declined = await desk.post(path, act="decline", reason="Ask facilities.", reply="draft")

    assert "Declined by Anna Lopez" in declined
    assert "Ask facilities." in declined
    assert offered(declined) == {"reopen", "note"}
    assert "Reopened" in await desk.of("ben").post(path, act="reopen")


async def test_the_same_reply_sent_twice_is_one(desk: BoardBrowser, store: Store) -> None:
    path = await path_of(store)

    for _ in range(2):
        await desk.post(path, act="reply", reply="Use the blue socket. ")
    await desk.post(path, act="reply", reply="The other blue socket.")

    steps = await store.escalations.steps("default", id_of(path))
    assert [step.text for step in steps if step.step == "reply"] == [
        "Use the blue socket.",
        "The other blue socket.",
    ]


async def test_without_javascript_an_act_leads_back_to_the_page(desk: BoardBrowser) -> None:
    path = await path_of(desk.store)

    await desk.post(path, 303, htmx=False, act="claim")
    kept = await desk.post(path, htmx=False, act="release", reply="half a sentence")
    refused = await desk.post(path, 409, htmx=False, act="reply", reply="  ")

    assert "<!doctype html>" in kept
    assert "half a sentence" in kept
    assert "<!doctype html>" in refused
    assert "The reply is empty." in refused


async def test_the_page_tells_when_another_one_was_quicker(desk: BoardBrowser) -> None:
    path = await path_of(desk.store)
    await desk.get(f"{path}/news?version=0", 204)
    await desk.of("ben").post(path, act="claim")

    news = await desk.get(f"{path}/news?version=0")

    assert "assigned to Ben Okafor." in news
    await desk.get(f"{path}/news?version=1", 204)


async def test_what_was_asked_before_explains_a_wish_for_a_person(desk: BoardBrowser) -> None:
    before = await ask(desk.store, "before", "error 809?")
    wish = replace(TRACE, route=replace(TRACE.route, leaned_on=(before.id,)), gate="")
    path = await path_of(
        desk.store,
        name="person",
        text="a human please",
        response=Escalation("Of course.", "asked_for_human", "a human please"),
        trace=wish,
    )

    page = html.unescape(await desk.get(path))

    assert "The asker wants to talk to a person" in page
    assert "Before that, the question was: “error 809?”" in page


async def test_a_question_that_the_case_has_itself_is_not_told_twice(desk: BoardBrowser) -> None:
    await ask(desk.store, "before", "vpn 809")
    path = await path_of(
        desk.store,
        name="person",
        text="a human please",
        response=Escalation("Of course.", "asked_for_human", "vpn 809"),
    )

    page = await desk.get(path)

    assert "The asker wants to talk to a person" in page
    assert "Before that" not in page


async def test_people_can_work_while_the_index_is_away(
    desk: BoardBrowser, store: Store, shelf: TwoPageIndex
) -> None:
    shelf.away = True
    path = await path_of(store)

    page = await desk.get(path)

    assert "The index is unavailable right now" in html.unescape(page)
    assert "VPN guide" not in page
    assert "Assigned to you" in await desk.post(path, act="claim")


@pytest.mark.parametrize("suffix", ["", "/news?version=0"])
async def test_an_unknown_case_is_told_as_a_page(desk: BoardBrowser, suffix: str) -> None:
    page = await desk.get(f"/board/escalations/nothing{suffix}", 404)

    assert "This escalation no longer exists" in html.unescape(page)
    assert "<!doctype html>" in page


async def test_a_withdrawn_question_is_no_longer_there_to_work_on(desk: BoardBrowser) -> None:
    path = await path_of(desk.store)
    await desk.store.work.cancel(id_of(path))

    await desk.get(path, 404)
    told = await desk.post(path, 404, act="claim")
    assert "no longer exists" in told


async def test_an_act_that_there_is_not_is_refused(desk: BoardBrowser, store: Store) -> None:
    assert "There is no act" in await desk.post(await path_of(store), 422, act="<b>")


async def test_the_words_of_a_person_are_text_and_their_links_are_plain(desk: BoardBrowser) -> None:
    path = await path_of(desk.store)

    page = await desk.post(path, act="reply", reply="<b>See</b> https://wiki.example/vpn")

    assert "&lt;b&gt;See&lt;/b&gt;" in page
    assert '<a href="https://wiki.example/vpn"' in page


async def test_a_record_that_is_away_is_told_as_a_page(desk: BoardBrowser, store: Store) -> None:
    path = await path_of(store)
    async with store.transactions.writing() as connection:
        await connection.exec_driver_sql("ALTER TABLE escalations RENAME TO gone")

    page = await desk.get(path, 503)

    assert "Temporarily unavailable" in page
    with pytest.raises(StoreUnavailable):
        await store.escalations.get("default", id_of(path))

"""Tests of a case as it is shown: on cards, in reminders and in the asker's notices."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast, get_args

import pytest

from bot.domain.cases import (
    Act,
    ActDetail,
    Actor,
    Case,
    CaseStatus,
    CaseStep,
    Notice,
    State,
    Step,
)
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import InteractionUnknown, StoreUnavailable
from bot.domain.interactions import Interaction, PostedRef
from bot.domain.messages import InteractionId, Message, Person, Thread
from bot.domain.ports import Interactions
from bot.escalations.asker_notices import as_plain, notice_text
from bot.escalations.cards import CardActions
from bot.escalations.case_view import (
    CaseView,
    buttons_for_asker,
    buttons_for_people,
    last_act,
    platform_of,
    reminder_text,
    state_since,
    status_text,
    view_of_delivery,
    waiting_time,
)
from bot.escalations.casework import Casework
from bot.escalations.lifecycle import EXPERTS_ONLY, MORE_ACTS, after, is_change
from rag.types import Principal
from tests.fakes.builders import NOON, message
from tests.fakes.desk import HANDED_OVER, delivery
from tests.fakes.escalations import ANNA, case_of, notice_of

ASKED = message("vpn?", platform="slack", private=False)
BEN = Actor("ben", "Ben Okafor", "expert")
ASKER = Actor(ASKED.author.id, "Mika", "asker")
OWNED = ("claimed", "answered", "resolved", "declined")


def status(state: State) -> CaseStatus:
    return CaseStatus(state, ANNA.id, ANNA.name) if state in OWNED else CaseStatus(state)


def step(what: Step, actor: Actor | None = ANNA) -> CaseStep:
    return CaseStep(ASKED.interaction_id, 2, what, actor, "", NOON)


def view(state: State, *steps: CaseStep, **changes: object) -> CaseView:
    case = case_of(ASKED, status=status(state), **changes)
    return CaseView(case=case, steps=steps, finding=None, before=())


@pytest.mark.parametrize("state", get_args(State))
def test_whoever_has_it_can_do_all_that_is_offered(state: State) -> None:
    for offer in buttons_for_people(view(state).case):
        then = after(status(state), offer.act, ANNA, is_asker=False, to=BEN)
        assert is_change(offer.act, status(state), then)


@pytest.mark.parametrize("state", get_args(State))
def test_an_asker_can_do_all_that_they_are_offered(state: State) -> None:
    offers = buttons_for_asker(state)
    assert offers
    for offer in offers:
        then = after(status(state), offer.act, ASKER, is_asker=True)
        assert is_change(offer.act, status(state), then)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("open", "Waiting"),
        ("reopened", "Reopened, not assigned"),
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
    assert status_text(closed) == "Closed by the asker"


def test_what_waits_does_so_since_it_came() -> None:
    later = NOON + timedelta(hours=1)
    assert state_since(view("open", changed_at=later).case) == NOON
    assert state_since(view("claimed", changed_at=later).case) == later


def test_to_ask_and_to_remind_are_no_acts() -> None:
    assert last_act((step("open"), step("claim"), step("ping", None))) == step("claim")
    assert last_act((step("open"), step("ping", None))) is None


def test_without_its_case_a_question_is_shown_as_it_came() -> None:
    bare = view_of_delivery(delivery(ASKED, HANDED_OVER))
    assert (bare.case.question, bare.case.status.state) == (HANDED_OVER.question, "open")
    assert bare.finding is not None
    assert bare.finding.suggestions == HANDED_OVER.suggestions


def test_then_pages_found_in_private_are_left_out() -> None:
    bare = view_of_delivery(delivery(replace(ASKED, private=True), HANDED_OVER))
    assert bare.finding is not None
    assert bare.finding.suggestions == ()


REMINDED_QUESTION = Message("1", Thread("web", "acme", "anna", "t"), Person("anna"), "vpn?", NOON)
PING: Notice = notice_of(REMINDED_QUESTION, 2, step="ping", to="people", actor=None, text="")


def case(opened: datetime, changed: datetime, state: str = "open") -> Case:
    status = CaseStatus(state)  # type: ignore[arg-type]
    return replace(case_of(REMINDED_QUESTION, opened_at=opened, changed_at=changed), status=status)


def test_a_question_that_nobody_took_has_waited_since_it_came() -> None:
    waits = case(NOON - timedelta(hours=3), NOON - timedelta(minutes=5))
    assert "".join(reminder_text(waits, PING, NOON)) == (
        "Nobody has claimed this question yet; it has been waiting for 3 hours."
    )


def test_one_that_was_opened_again_has_waited_since_then() -> None:
    waits = case(NOON - timedelta(hours=3), NOON - timedelta(minutes=5), "reopened")
    assert reminder_text(waits, PING, NOON)[1] == "; it has been waiting for 5 minutes."


def test_people_are_told_that_one_was_opened_again() -> None:
    again = replace(PING, step="reopen")
    said = "".join(reminder_text(case(NOON, NOON), again, NOON))
    assert said == "A question was reopened and is not assigned to anyone."


def test_where_it_was_asked_is_the_platform() -> None:
    assert platform_of(case(NOON, NOON)) == "web"


@pytest.mark.parametrize(
    ("waited", "said"),
    [
        (timedelta(seconds=5), "1 minute"),
        (timedelta(minutes=30), "30 minutes"),
        (timedelta(minutes=119), "119 minutes"),
        (timedelta(hours=2, minutes=40), "2 hours"),
        (timedelta(hours=47), "47 hours"),
        (timedelta(days=3, hours=5), "3 days"),
    ],
)
def test_a_wait_is_said_as_people_say_it(waited: timedelta, said: str) -> None:
    assert waiting_time(waited) == said


CARD_QUESTION = Message("1", Thread("teams", "acme", "c", "t"), Person("anna"), "vpn?", NOON)
CASE_ID = CARD_QUESTION.interaction_id


class Office:
    """Stands in for casework, record and cards of one case, whose version it counts."""

    def __init__(self) -> None:
        self.version, self.looked = 0, 0
        self.open, self.begun = asyncio.Event(), asyncio.Event()
        self.away = False
        self.at: PostedRef | None = PostedRef("people", "card")

    async def shown(
        self, tenant: str, case_id: InteractionId, reader: frozenset[Principal]
    ) -> CaseView:
        self.looked += 1
        self.begun.set()
        version = self.version
        await self.open.wait()
        if self.away:
            raise StoreUnavailable("The record is away.")
        return CaseView(replace(case_of(CARD_QUESTION), version=version), (), None, ())

    async def get(self, interaction_id: InteractionId) -> Interaction | None:
        return (
            Interaction(CASE_ID, CARD_QUESTION, "done", NOON) if interaction_id == CASE_ID else None
        )

    async def card_of(self, message: Message) -> PostedRef | None:
        return self.at

    async def show(self, message: Message, view: CaseView) -> None:
        """Show nothing."""


def cards(office: Office, tenant: str = "acme") -> CardActions:
    return CardActions(
        tenant=tenant,
        casework=cast("Casework", office),
        interactions=cast("Interactions", office),
        cards=office,
        background=BackgroundTasks(),
    )


async def test_who_comes_while_it_is_looked_up_shares_the_next_look_and_sees_what_they_did() -> (
    None
):
    office = Office()
    pressed = cards(office)
    first = asyncio.create_task(pressed.view(CASE_ID))
    await office.begun.wait()
    office.version = 1
    others = [asyncio.create_task(pressed.view(CASE_ID)) for _ in range(50)]
    await asyncio.sleep(0)
    office.open.set()
    assert (await first).case.version == 0
    assert {view.case.version for view in await asyncio.gather(*others)} == {1}
    assert office.looked == 2


async def test_a_look_that_failed_is_told_to_all_and_the_next_is_made_anew() -> None:
    office = Office()
    office.away = True
    office.open.set()
    pressed = cards(office)
    told = await asyncio.gather(*(pressed.view(CASE_ID) for _ in range(3)), return_exceptions=True)
    assert {type(each) for each in told} == {StoreUnavailable}
    office.away = False
    assert (await pressed.view(CASE_ID)).case.version == 0


async def test_who_leaves_takes_no_look_from_the_others() -> None:
    office = Office()
    pressed = cards(office)
    leaving, staying = (asyncio.create_task(pressed.view(CASE_ID)) for _ in range(2))
    await office.begun.wait()
    leaving.cancel()
    office.open.set()
    assert (await staying).case.version == 0


@pytest.mark.parametrize(
    ("tenant", "case_id", "channel", "at"),
    [
        ("other", CASE_ID, "people", PostedRef("people", "card")),
        ("acme", InteractionId("unknown"), "people", PostedRef("people", "card")),
        ("acme", CASE_ID, "elsewhere", PostedRef("people", "card")),
        ("acme", CASE_ID, "people", None),
    ],
    ids=["another company", "unknown", "another channel", "no card"],
)
async def test_a_press_that_is_not_on_the_card_is_refused(
    tenant: str, case_id: InteractionId, channel: str, at: PostedRef | None
) -> None:
    office = Office()
    office.at = at
    with pytest.raises(InteractionUnknown):
        await cards(office, tenant).place(case_id, channel)


async def test_a_press_on_the_card_is_about_its_question() -> None:
    message, at = await cards(Office()).place(CASE_ID, "people")
    assert (message, at) == (CARD_QUESTION, PostedRef("people", "card"))


EXPERT_NAME = Actor("u1", "Anna Lopez", "expert")
TOLD = Notice(
    "n1", InteractionId("i1"), 2, "reply", "asker", EXPERT_NAME, "Restart it.\n\nThen wait."
)


def test_a_reply_is_the_persons_and_so_are_the_words() -> None:
    news = notice_text(TOLD)

    assert (news.name, news.did, news.words) == ("Anna Lopez", "replied:", TOLD.text)
    assert as_plain(news) == "Anna Lopez replied:\n\nRestart it.\n\nThen wait."


@pytest.mark.parametrize("act", sorted(set(get_args(Act)) - EXPERTS_ONLY - MORE_ACTS - {"assign"}))
def test_every_step_that_is_told_has_words_with_and_without_the_persons_own(act: Act) -> None:
    with_words = as_plain(notice_text(replace(TOLD, step=act)))
    without = as_plain(notice_text(replace(TOLD, step=act, text=" ")))

    assert with_words.startswith("Anna Lopez ")
    assert with_words.endswith(":\n\nRestart it.\n\nThen wait.")
    assert without.startswith("Anna Lopez ")
    assert without.endswith(".")
    assert "wrote" not in with_words


def test_the_asker_is_told_who_has_it_and_not_why() -> None:
    given = replace(TOLD, step="assign", text="He broke it.", detail=ActDetail(BEN))

    assert as_plain(notice_text(given)) == "Ben Okafor is now working on your question."


def test_an_answer_in_the_askers_thread_is_not_repeated() -> None:
    said = replace(TOLD, detail=ActDetail(in_thread=True))

    assert as_plain(notice_text(said)) == "Anna Lopez replied in this thread."


def test_nobody_is_called_by_no_name() -> None:
    for actor in (None, Actor("u1", " ", "expert")):
        assert as_plain(notice_text(replace(TOLD, actor=actor))).startswith(
            "Someone at the help desk r"
        )

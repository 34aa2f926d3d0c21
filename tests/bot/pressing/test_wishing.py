"""What a press says in the name of its presser."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.actions import ActionRejected, ButtonQuestions, message_below
from bot.domain.handoff import PERSON_REQUEST, person_request
from bot.domain.interactions import Clarification, Interaction, Outcome
from bot.domain.messages import Message, Person, Refusal
from bot.domain.outcomes import refused_outcome
from bot.domain.person_requests import person_request_id
from bot.store.database import Store
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, TRACE
from tests.bot.recorded import answered
from tests.builders import message

BEN = Person("ben", "Ben")
OPTIONS = Clarification("Which one?", options=("Booking leave", "Public holidays"))
ASKED = message("vpn?", private=False)


@pytest.fixture
def inbox() -> KeepingInbox:
    return KeepingInbox()


@pytest.fixture
def wishing(store: Store, inbox: KeepingInbox) -> ButtonQuestions:
    return ButtonQuestions(interactions=store.interactions, inbox=inbox)


async def _kept(
    store: Store, asked: Message = ASKED, outcome: Outcome | None = None
) -> Interaction:
    return await answered(store, asked, outcome or Outcome(ANSWER, TRACE))


async def test_a_wish_is_its_pressers_message_in_the_thread(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    asked = await _kept(store)
    await wishing.ask_person(asked, ASKED.author, reply_to="there")
    wish = inbox.only
    assert (wish.id, wish.author, wish.text) == (f"{ASKED.id}:person", ASKED.author, PERSON_REQUEST)
    assert (wish.thread, wish.private, wish.reply_to) == (ASKED.thread, False, "there")


async def test_a_wish_names_its_question_when_another_was_asked_since(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    asked = await _kept(store)
    await _kept(store, replace(ASKED, id="m2", text="canteen?"))
    await wishing.ask_person(asked, BEN, reply_to="")
    assert inbox.only.text == person_request("vpn?")


@pytest.mark.mended(id="teams-1")
async def test_a_wish_names_the_question_of_somebody_else(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    asked = await _kept(store)
    await wishing.ask_person(asked, BEN, reply_to="")
    assert inbox.only.text == person_request("vpn?")


async def test_the_same_wish_is_made_once_by_whomever(
    store: Store, wishing: ButtonQuestions
) -> None:
    asked = await _kept(store)
    await store.work.open(
        message_below(ASKED, person_request_id(ASKED.id), BEN, text=PERSON_REQUEST, reply_to=""),
        "server",
    )
    with pytest.raises(ActionRejected, match="already"):
        await wishing.ask_person(asked, Person("cleo"), reply_to="")


@pytest.mark.mended(id="attack-10")
async def test_a_wish_that_a_limit_refused_was_not_asked_already(
    store: Store, wishing: ButtonQuestions
) -> None:
    asked = await _kept(store)
    wish = message_below(ASKED, person_request_id(ASKED.id), BEN, text=PERSON_REQUEST, reply_to="")
    await _kept(store, wish, refused_outcome(wish, Refusal("Later.", "pause")))
    with pytest.raises(ActionRejected) as declined:
        await wishing.ask_person(asked, BEN, reply_to="")
    assert "already" not in str(declined.value)


async def test_who_asked_for_a_person_in_words_has_asked(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    asked = await _kept(store)
    people = replace(HANDED_OVER, reason="asked_for_human", question="vpn?")
    await _kept(store, replace(ASKED, id="m2", text="yes"), Outcome(people, TRACE))
    with pytest.raises(ActionRejected, match="already"):
        await wishing.ask_person(asked, BEN, reply_to="")
    assert not inbox.messages


async def test_an_option_is_asked_as_it_was_offered(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    asked = await _kept(store, outcome=Outcome(OPTIONS, TRACE))
    assert await wishing.choose(asked, "1", BEN, reply_to="") == "Public holidays"
    assert (inbox.only.id, inbox.only.text) == (f"{ASKED.id}:option", "Public holidays")


@pytest.mark.parametrize("number", ["2", "-1", "01", "\u0661", "", " 1", "9" * 5_000])
async def test_an_option_that_was_not_offered_is_declined(
    store: Store, wishing: ButtonQuestions, number: str
) -> None:
    asked = await _kept(store, outcome=Outcome(OPTIONS, TRACE))
    with pytest.raises(ActionRejected, match="isn't there"):
        await wishing.choose(asked, number, BEN, reply_to="")

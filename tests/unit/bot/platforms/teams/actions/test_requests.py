"""Test buttons that ask for a person or for an option in the name of who presses them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from bot.domain.errors import InboxFull
from bot.domain.handoff import person_request
from bot.domain.interactions import Clarification, Interaction, Outcome
from bot.platforms.teams.payloads.actions import (
    ASK_PERSON,
    CHOOSE_OPTION,
    INTERACTION_KEY,
    SHOW_WHY,
)
from bot.platforms.teams.payloads.activity import conversation_in, read_reference
from tests.fakes.desk import HANDED_OVER, TRACE
from tests.fakes.durable_inbox import wait_until_posted
from tests.fakes.http_server import wait_until
from tests.fakes.teams.builders import Bot, interaction_id_of
from tests.fakes.teams.names import ALICE, BOB, GROUP, GUEST, GUESTS, HELP
from tests.fakes.teams.people import chat_of

UNKNOWN = "00000000-0000-4000-8000-000000000000"
OF_PEOPLE = replace(HANDED_OVER, reason="asked_for_human")
CHOICE = Clarification("Which one?", options=("Booking leave", "Public holidays"))


async def _wish(
    bot: Bot, asked: Interaction, person: str = ALICE, about: str = "", *, where: str = ""
) -> str:
    data = {INTERACTION_KEY: about or asked.id}
    return await bot.press(bot.reply(asked), ASK_PERSON, data, person, where=where)


async def _choice(bot: Bot, asked: Interaction, number: object, person: str = ALICE) -> str:
    data: dict[str, Any] = {INTERACTION_KEY: asked.id, "option": number}
    return await bot.press(bot.reply(asked), CHOOSE_OPTION, data, person)


async def _answered(bot: Bot, asked: Interaction, what: str = "person") -> Interaction:
    """Wait until the message that a press is has its reply."""
    name = f"{asked.message.id}:{what}"
    await wait_until(lambda: name in [each.id for each in bot.said.asked])
    return await wait_until_posted(bot.store, interaction_id_of(asked.message.thread.channel, name))


@pytest.mark.parametrize("where", [HELP, GROUP])
async def test_a_wish_is_a_message_of_its_presser_in_the_same_thread(bot: Bot, where: str) -> None:
    asked = await bot.answered(where=where)
    bot.said.outcome = Outcome(OF_PEOPLE, TRACE)
    told = await _wish(bot, asked, BOB)
    assert "noted" in told
    wish = (await _answered(bot, asked)).message
    words = person_request(asked.message.text)
    assert (wish.text, wish.author.id, wish.private) == (words, BOB, False)
    assert wish.thread == asked.message.thread


async def test_the_reply_to_a_wish_lands_in_the_thread_below_the_question(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.answered()
    bot.said.outcome = Outcome(OF_PEOPLE, TRACE)
    await _wish(bot, asked, BOB)
    reply = bot.reply(await _answered(bot, asked))
    assert reply.conversation == bot.reply(asked).conversation
    assert reply.reply_to == asked.message.id


async def test_where_a_wish_is_answered_names_its_presser_and_no_press(bot: Bot) -> None:
    asked = await bot.answered()
    await _wish(bot, asked, BOB)
    reply_to = (await _answered(bot, asked)).message.reply_to
    assert conversation_in(reply_to) == conversation_in(asked.message.reply_to)
    read = read_reference(reply_to)
    assert read["activityId"] == asked.message.id
    assert json.loads(reply_to)["user"]["aadObjectId"] == BOB


async def test_a_button_of_a_real_reply_asks_for_a_person(bot: Bot) -> None:
    asked, bob = await bot.answered(), bot.person(BOB)
    await bob.press(bot.reply(asked), "Ask a person")
    assert "noted" in bob.told[0]
    await _answered(bot, asked)
    assert bot.said.asked[1].author.id == BOB


async def test_a_wish_of_two_people_is_one_and_the_second_is_told(bot: Bot) -> None:
    asked = await bot.answered()
    await _wish(bot, asked, BOB)
    assert "already" in await _wish(bot, asked)
    await _answered(bot, asked)
    assert len(bot.said.asked) == 2


async def test_twenty_presses_at_once_are_one_wish(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.platforms.teams.dispatch.INVOKE_SECONDS", 600.0)
    asked = await bot.answered()
    presses = [_wish(bot, asked, person) for person in (ALICE, BOB) for _ in range(10)]
    await asyncio.gather(*presses)
    await _answered(bot, asked)
    assert len(bot.said.asked) == 2


async def test_a_guest_asks_for_nobody_and_is_told(bot: Bot) -> None:
    asked = await bot.answered(where=GUESTS)
    assert "Only colleagues" in await _wish(bot, asked, GUEST)
    assert len(bot.said.asked) == 1


@pytest.mark.parametrize("name", [ASK_PERSON, CHOOSE_OPTION])
@pytest.mark.parametrize("about", ["", "nothing", UNKNOWN, "x" * 5_000])
async def test_what_was_never_asked_is_told(bot: Bot, name: str, about: str) -> None:
    asked = await bot.answered()
    assert "no longer" in await bot.press(bot.reply(asked), name, {INTERACTION_KEY: about})
    assert len(bot.said.asked) == 1


async def test_a_press_from_another_place_is_declined(bot: Bot) -> None:
    asked = await bot.answered()
    there = bot.teams.conversations[GROUP].id
    assert "That question is no longer here" in await _wish(bot, asked, BOB, where=there)
    assert "That question is no longer here" in await _wish(bot, asked, BOB, where=chat_of(BOB))


async def test_what_somebody_asked_is_theirs_in_their_own_chat(bot: Bot) -> None:
    asked = await bot.answered()
    assert "noted" in await _wish(bot, asked, where=chat_of(ALICE))
    assert (await _answered(bot, asked)).message.thread == asked.message.thread


async def test_a_withdrawn_question_is_not_pressed_below(bot: Bot) -> None:
    asked = await bot.answered()
    reply = bot.reply(asked)
    await bot.inbox.cancel(asked.id)
    assert "That question is no longer here" in await bot.press(
        reply, ASK_PERSON, {INTERACTION_KEY: asked.id}
    )


async def test_a_wish_that_is_not_kept_is_told(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = await bot.answered()

    async def full(*_: object) -> None:
        raise InboxFull("waiting=200")

    monkeypatch.setattr(type(bot.inbox), "accept", full)
    told = await _wish(bot, asked)
    assert "try again" in told
    assert "200" not in told


async def test_a_defect_is_told_in_words(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = await bot.answered()

    async def fails(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(type(bot.inbox), "accept", fails)
    assert await _wish(bot, asked) == "Something went wrong. Please try again in a minute."


async def test_an_option_is_asked_once_as_its_presser(bot: Bot) -> None:
    asked = await bot.answered(Outcome(CHOICE, TRACE))
    assert "looking" in await _choice(bot, asked, 1, BOB)
    assert "You have already chosen one of these; see below" in await _choice(bot, asked, 0)
    await _answered(bot, asked, "option")
    assert [(each.text, each.author.id) for each in bot.said.asked[1:]] == [
        ("Public holidays", BOB)
    ]


@pytest.mark.parametrize(
    "number", [2, -1, "\u0662", "", "x", "9" * 5_000, None, True, 1.0, [0], {"a": 1}], ids=range(11)
)
async def test_an_option_that_was_not_offered_is_not_asked(bot: Bot, number: object) -> None:
    asked = await bot.answered(Outcome(CHOICE, TRACE))
    assert "That choice is no longer available. Please ask again" in await _choice(
        bot, asked, number
    )
    assert len(bot.said.asked) == 1


async def test_an_option_of_what_was_no_question_back_is_not_asked(bot: Bot) -> None:
    asked = await bot.answered()
    assert "That choice is no longer available. Please ask again" in await _choice(bot, asked, 0)


async def test_a_button_that_nobody_takes_is_told(bot: Bot) -> None:
    asked = await bot.answered()
    assert "no longer" in await bot.press(
        bot.reply(asked), f"{SHOW_WHY}.not", {INTERACTION_KEY: asked.id}
    )

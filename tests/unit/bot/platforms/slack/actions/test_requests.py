"""Test buttons that ask in their presser's name: for a person, and for an option."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.answering.answer_plan import ModelProfile
from bot.answering.desk import Desk
from bot.answering.routing.router import Router
from bot.domain.errors import InboxFull
from bot.domain.handoff import person_request
from bot.domain.interactions import Clarification, Interaction, Outcome
from bot.domain.settings import Settings
from bot.platforms.slack.actions.answer_buttons import reply_to_press
from bot.platforms.slack.actions.interactivity import Press
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.payloads.actions import ASK_PERSON
from bot.platforms.slack.payloads.response_urls import ResponseUrls
from bot.store.database import Store
from rag.pipeline import Pipeline
from tests.fakes.desk import HANDED_OVER, OFFERED, TRACE
from tests.fakes.durable_inbox import wait_until_posted
from tests.fakes.http_server import wait_until
from tests.fakes.slack.builders import Bot, bot_at, interaction_id_of, question
from tests.fakes.slack.events import ALICE
from tests.fakes.slack.names import BOB, DIRECT, GUEST, HELP, PEOPLE, SHARED
from tests.fakes.slack.server import FakeSlack
from tests.unit.bot.answering.test_desk import WORDING, FirstLine, FixedGate, Greeter, ListIndex

CHOICE = Clarification("Which one?", options=("Booking leave", "Public holidays"))
OF_PEOPLE = replace(HANDED_OVER, reason="asked_for_human")


@pytest.fixture
async def house(slack: FakeSlack, channel: SlackChannel, store: Store) -> AsyncIterator[Bot]:
    """Yield a bot with the real desk."""
    async with bot_at(slack, channel, store, desk=_desk()) as bot:
        yield bot


def _desk() -> Desk:
    """Return a desk with the real router, which finds nothing."""
    return Desk(
        ModelProfile(
            route=Router(None, None, None).route,
            reply_generically=Greeter().reply,
            pipeline=Pipeline(ListIndex(), None, FirstLine()),  # type: ignore[arg-type]  # as in Bench
        ),
        gate=FixedGate(0.9).judge,
        wording=WORDING,
    )


def _asked_of_people(bot: Bot, person: str) -> str:
    """Return the question on the card of a wish."""
    cards = [
        p for p in bot.slack.in_channel(PEOPLE) if interaction_id_of(HELP, person) in str(p.payload)
    ]
    (card,) = cards
    return next(line for line in card.shown.split("\n") if line.startswith("> "))


async def _pressed(bot: Bot, question: str, what: str = "person") -> None:
    await wait_until(lambda: f"{question}:{what}" in [each.id for each in bot.said.asked])
    await wait_until_posted(bot.store, interaction_id_of(HELP, f"{question}:{what}"))


async def test_a_wish_goes_to_people_in_the_same_thread(bot: Bot) -> None:
    asked = await bot.answered()
    bot.said.outcome = Outcome(OF_PEOPLE, TRACE)
    await bot.person(BOB).click(bot.reply(asked), ASK_PERSON)
    await _pressed(bot, asked.message.id)
    wish = bot.said.asked[1]
    words = person_request(asked.message.text)
    assert (wish.text, wish.author.id, wish.private) == (words, BOB, False)
    assert wish.thread == asked.message.thread
    assert len(bot.slack.in_channel(PEOPLE)) == 1


async def test_a_wish_of_two_people_is_one_and_the_second_is_told(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person(BOB).click(bot.reply(asked), ASK_PERSON)
    await bot.person().click(bot.reply(asked), ASK_PERSON)
    await bot.told("You have already asked a person about this; see below", ALICE)
    await _pressed(bot, asked.message.id)
    assert len(bot.said.asked) == 2


async def test_twenty_presses_at_once_are_one_wish(bot: Bot) -> None:
    asked = await bot.answered()
    bot.said.outcome = Outcome(OF_PEOPLE, TRACE)
    people = [bot.person(user) for user in (ALICE, BOB)]
    presses = [each.click(bot.reply(asked), ASK_PERSON) for each in people for _ in range(10)]
    answers = await asyncio.gather(*presses)
    await _pressed(bot, asked.message.id)
    assert {answer.status for answer in answers} == {200}
    assert len(bot.said.asked) == 2
    assert len(bot.slack.in_channel(PEOPLE)) == 1


async def test_an_offer_in_private_is_taken_by_its_asker(bot: Bot) -> None:
    asked = await bot.answered(Outcome(OFFERED, TRACE), channel=DIRECT)
    bot.said.outcome = Outcome(OF_PEOPLE, TRACE)
    await bot.person().click(bot.reply(asked), "Yes, ask a person")
    await wait_until(lambda: len(bot.slack.in_channel(PEOPLE)) == 1)
    assert bot.said.asked[1].private


async def test_only_colleagues_and_the_asker_ask_for_a_person_in_a_channel(bot: Bot) -> None:
    asked = await bot.answered(channel=SHARED)
    await bot.person(GUEST).click(bot.reply(asked), ASK_PERSON)
    await bot.told("Only colleagues", GUEST)
    assert len(bot.said.asked) == 1


async def test_a_wish_that_is_not_kept_is_told(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = await bot.answered()

    async def full(*_: object) -> None:
        raise InboxFull("waiting=200")

    monkeypatch.setattr(type(bot.inbox), "accept", full)
    await bot.person().click(bot.reply(asked), ASK_PERSON)
    assert "200" not in (await bot.told("try again")).shown


async def test_an_option_is_asked_once_as_its_presser(bot: Bot) -> None:
    asked = await bot.answered(Outcome(CHOICE, TRACE))
    bot.said.outcome = Outcome(OF_PEOPLE, TRACE)
    await bot.person().click(bot.reply(asked), "Public holidays")
    await bot.person(BOB).click(bot.reply(asked), "Booking leave")
    await bot.told("You have already chosen one of these; see below", BOB)
    await _pressed(bot, asked.message.id, "option")
    assert [(each.text, each.author.id) for each in bot.said.asked[1:]] == [
        ("Public holidays", ALICE)
    ]


@pytest.mark.parametrize("number", ["2", "-1", "\u0662", "", "x", "9" * 40])
async def test_an_option_that_was_not_offered_is_not_asked(bot: Bot, number: str) -> None:
    asked = await bot.answered(Outcome(CHOICE, TRACE))
    reply = bot.reply(asked)
    button = next(b for b in reply.blocks if b["type"] == "actions")["elements"][0]
    button["value"] = f"{asked.id}:{number}"
    await bot.person().click(reply, "Booking leave")
    await bot.told("That choice is no longer available. Please ask again")
    assert len(bot.said.asked) == 1


async def test_people_are_asked_the_question_that_was_pressed_below(house: Bot) -> None:
    alice = house.person()
    first = await alice.say(HELP, "How do I reset my badge?", mention=True)
    answered = await wait_until_posted(house.store, interaction_id_of(HELP, first))
    second = await alice.say(HELP, "Where is the canteen?", first, mention=True)
    await wait_until_posted(house.store, interaction_id_of(HELP, second))
    await house.press(house.reply(answered), ASK_PERSON, answered.id)
    await wait_until_posted(house.store, interaction_id_of(HELP, f"{first}:person"))
    assert _asked_of_people(house, f"{first}:person") == "> How do I reset my badge?"


async def test_people_are_asked_the_only_question_of_a_thread(house: Bot) -> None:
    first = await house.person().say(HELP, "How do I reset my badge?", mention=True)
    answered = await wait_until_posted(house.store, interaction_id_of(HELP, first))
    await house.press(house.reply(answered), ASK_PERSON, answered.id)
    await wait_until_posted(house.store, interaction_id_of(HELP, f"{first}:person"))
    assert _asked_of_people(house, f"{first}:person") == "> How do I reset my badge?"


async def _offered(house: Bot) -> Interaction:
    """Have a question in private to which nothing is found."""
    first = await house.person().say(DIRECT, "How do I reset my badge?")
    return await wait_until_posted(house.store, interaction_id_of(DIRECT, first))


async def test_who_typed_yes_and_then_presses_has_asked_once(house: Bot) -> None:
    offered = await _offered(house)
    typed = await house.person().say(DIRECT, "yes", offered.message.id)
    await wait_until_posted(house.store, interaction_id_of(DIRECT, typed))
    await house.person().click(house.reply(offered), "Yes, ask a person")
    await house.told("You have already asked a person about this; see below")
    assert len(house.slack.in_channel(PEOPLE)) == 1


async def test_who_types_yes_and_presses_at_once_has_asked_once(house: Bot) -> None:
    offered = await _offered(house)
    alice = house.person()
    typed, _ = await asyncio.gather(
        alice.say(DIRECT, "yes", offered.message.id),
        alice.click(house.reply(offered), "Yes, ask a person"),
    )
    wish = interaction_id_of(DIRECT, f"{offered.message.id}:person")
    for each in (interaction_id_of(DIRECT, typed), wish):
        if await house.store.interactions.get(each):
            await wait_until_posted(house.store, each)
    assert len(house.slack.in_channel(PEOPLE)) == 1


async def test_a_wish_about_another_question_is_another_wish(house: Bot) -> None:
    offered = await _offered(house)
    alice = house.person()
    second = await alice.say(DIRECT, "How do I reset my other badge?", offered.message.id)
    other = await wait_until_posted(house.store, interaction_id_of(DIRECT, second))
    for each in (offered, other):
        await alice.click(house.reply(each), "Yes, ask a person")
        await wait_until_posted(house.store, interaction_id_of(DIRECT, f"{each.message.id}:person"))
    assert len(house.slack.in_channel(PEOPLE)) == 2


def test_a_press_below_a_reply_to_a_command_is_answered_where_it_was_pressed(
    acme: Settings,
) -> None:
    urls = ResponseUrls(acme)
    asked = replace(question(private=True), reply_to='{"response_url": "https://old.example"}')
    press = Press(BOB, HELP, "", response_url="https://hooks.slack.com/actions/1")
    wish = replace(asked, reply_to=reply_to_press(urls, asked, press))
    assert urls.of(wish) == "https://hooks.slack.com/actions/1"
    assert reply_to_press(urls, question(), press) == ""

"""Reactions as votes: whose count, on what, in whatever order Slack tells of them."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Outcome, Reply
from bot.domain.messages import InteractionId
from bot.platforms.slack.actions.feedback import parse_thumb
from bot.platforms.slack.payloads.events import BotIds
from bot.store.key_values import StoredNotes
from tests.bot.adapters.outcomes import ANSWER, TRACE
from tests.bot.adapters.slack.answering import Bot
from tests.bot.adapters.slack.events import ALICE
from tests.bot.adapters.slack.workspace.envelopes import deliver
from tests.bot.adapters.slack.workspace.names import (
    BOB,
    BOT_USER,
    DIRECT,
    GUEST,
    HELP,
    OTHER_BOT,
    SHARED,
    STRANGER,
)
from tests.bot.house import until

LONG = "\n\n".join(f"Step {number}. " + "word " * 60 for number in range(1, 90))
EVENT = {
    "type": "reaction_added",
    "user": ALICE,
    "reaction": "+1",
    "item_user": BOT_USER,
    "item": {"type": "message", "channel": HELP, "ts": "1.4"},
    "event_ts": "1.6",
}
US = BotIds(frozenset({BOT_USER}))


async def becomes_voted(bot: Bot, asked: InteractionId, wanted: dict[str, str]) -> None:
    async with asyncio.timeout(5):
        while await bot.votes(asked) != wanted:  # noqa: ASYNC110 - an errand tells nobody
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("name", "vote"),
    [
        ("+1", "up"),
        ("thumbsup", "up"),
        ("+1::skin-tone-3", "up"),
        ("thumbsdown::skin-tone-6", "down"),
        ("-1", "down"),
    ],
)
async def test_thumbs_count_in_any_colour_and_by_either_name(
    bot: Bot, name: str, vote: str
) -> None:
    asked = await bot.answered()
    await bot.person().react(bot.reply(asked), name)
    assert await bot.votes(asked.id) == {ALICE: vote}


@pytest.mark.parametrize("name", ["tada", "white_check_mark", "heart", "+10", "", "::"])
def test_other_reactions_are_no_votes(name: str) -> None:
    assert parse_thumb({**EVENT, "reaction": name}, US) is None


@pytest.mark.parametrize(
    "change",
    [
        {"item_user": ALICE},
        {"item_user": None},
        {"user": BOT_USER},
        {"user": 7},
        {"item": None},
        {"item": {"type": "file", "file": "F1"}},
        {"item": {"channel": HELP, "ts": "now"}},
        {"event_ts": "soon"},
        {"reaction": ["+1"]},
    ],
)
def test_what_is_no_thumb_on_our_message_is_left_alone(change: dict[str, object]) -> None:
    assert parse_thumb(EVENT, US) is not None
    assert parse_thumb({**EVENT, **change}, US) is None


async def test_a_vote_is_kept_before_slack_has_its_answer(bot: Bot) -> None:
    asked = await bot.answered()
    calls = len(bot.slack.calls)
    alice = bot.person()
    await alice.react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {ALICE: "up"}
    assert alice.answers[-1].status == 200
    assert len(bot.slack.calls) == calls


async def test_a_reaction_taken_back_withdraws_its_vote_and_no_other(bot: Bot) -> None:
    asked = await bot.answered()
    alice, reply = bot.person(), bot.reply(asked)
    await alice.react(reply, "+1")
    await alice.react(reply, "-1")
    await alice.unreact(reply, "+1")
    assert await bot.votes(asked.id) == {ALICE: "down"}
    await alice.unreact(reply, "-1")
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize("user", [GUEST, STRANGER, OTHER_BOT])
async def test_who_is_no_colleague_has_no_vote(bot: Bot, user: str) -> None:
    asked = await bot.answered(channel=SHARED)
    await bot.person(user).react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {}


async def test_colleagues_have_a_vote_each(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person(BOB).react(bot.reply(asked), "-1")
    await bot.person().react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {ALICE: "up", BOB: "down"}


async def test_an_asker_from_outside_judges_their_own_answer(bot: Bot) -> None:
    asked = await bot.answered(channel=SHARED, user=STRANGER)
    await bot.person(STRANGER).react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {STRANGER: "up"}


async def test_what_is_no_answer_with_sources_is_not_judged(bot: Bot) -> None:
    asked = await bot.answered(Outcome(Reply("Hello!", "generic"), TRACE))
    await bot.person().react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {}


async def test_the_first_part_of_a_long_answer_is_judged_too(bot: Bot) -> None:
    asked = await bot.answered(Outcome(replace(ANSWER, text=LONG), TRACE))
    first = bot.slack.answers(HELP, asked.message.thread.id)[0]
    assert first.ts != bot.reply(asked).ts
    alice = bot.person()
    await alice.react(first, "+1")
    await becomes_voted(bot, asked.id, {ALICE: "up"})
    looked_up = bot.slack.calls.count("conversations.replies")
    await alice.unreact(first, "+1")
    assert await bot.votes(asked.id) == {}
    assert bot.slack.calls.count("conversations.replies") == looked_up


async def test_the_question_itself_and_cards_are_no_answers(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person(BOB).react(asked.message.id, "+1")
    posted = bot.slack.write(BOT_USER, HELP, {"text": "hello", "metadata": {}})
    await bot.person(BOB).react(posted, "+1")
    await until(lambda: "conversations.replies" in bot.slack.calls)
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize("seed", range(6))
async def test_the_last_reaction_counts_in_whatever_order_and_however_often_it_is_told(
    bot: Bot, seed: int
) -> None:
    asked = await bot.answered()
    alice, reply = bot.person(), bot.reply(asked)
    alice.held = []
    await alice.react(reply, "+1")
    await alice.unreact(reply, "+1")
    await alice.react(reply, "-1")
    await alice.unreact(reply, "-1")
    await alice.react(reply, "+1")
    await deliver(alice.door, alice.held, times=2, shuffled=random.Random(seed))  # noqa: S311 - an order, no secret
    assert await bot.votes(asked.id) == {ALICE: "up"}


async def test_the_last_reaction_counts_when_all_are_told_at_once(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await bot.answered()
    alice, reply = bot.person(), bot.reply(asked)
    get = StoredNotes.get

    async def slow(notes: StoredNotes, tenant: str, key: str) -> str | None:
        noted = await get(notes, tenant, key)
        await asyncio.sleep(0.05)
        return noted

    monkeypatch.setattr(StoredNotes, "get", slow)
    alice.held = []
    await alice.react(reply, "+1")
    await alice.unreact(reply, "+1")
    await deliver(alice.door, list(reversed(alice.held)), at_once=True)
    assert await bot.votes(asked.id) == {}


async def test_a_private_answer_is_judged_by_its_asker(bot: Bot) -> None:
    asked = await bot.answered(channel=DIRECT)
    await bot.person().react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {ALICE: "up"}


async def test_a_vote_that_was_not_kept_is_not_acknowledged(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await bot.answered()

    async def away(*_: object) -> None:
        raise StoreUnavailable("the disk is full")

    alice = bot.person()
    monkeypatch.setattr(bot.store.interactions, "rate", away)
    await alice.react(bot.reply(asked), "+1")
    assert alice.answers[-1].status == 503


async def test_who_may_vote_is_asked_again_while_slack_does_not_tell(bot: Bot) -> None:
    asked = await bot.answered()
    bob = bot.person(BOB)
    bot.slack.scopes = ("chat:write",)
    await bob.react(bot.reply(asked), "+1")
    assert bob.answers[-1].status == 503
    assert await bot.votes(asked.id) == {}


async def test_a_thumb_down_asks_what_was_wrong_once(bot: Bot) -> None:
    asked = await bot.answered()
    alice, reply = bot.person(), bot.reply(asked)
    alice.held = []
    await alice.react(reply, "-1")
    await deliver(alice.door, alice.held, times=3)
    await bot.told("What was wrong")
    assert len(bot.whispered()) == 1

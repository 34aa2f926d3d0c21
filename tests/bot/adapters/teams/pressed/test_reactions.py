"""Reactions to the bot's answers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from bot.domain.interactions import Outcome
from bot.platforms.teams.actions.feedback import reaction_in
from tests.bot.adapters.outcomes import HANDED_OVER, TRACE
from tests.bot.adapters.teams.answering import Bot
from tests.bot.adapters.teams.pressed.test_feedback import LONG
from tests.bot.adapters.teams.tenant import turns
from tests.bot.adapters.teams.tenant.names import (
    ALICE,
    BOB,
    BOT,
    GROUP,
    GUEST,
    GUESTS,
    HELP,
    SHARED,
    STRANGER,
)
from tests.bot.adapters.teams.tenant.posts import Sent


@pytest.mark.parametrize(("kind", "vote"), [("like", "up"), ("sad", "down"), ("angry", "down")])
@pytest.mark.parametrize("where", [HELP, GROUP])
async def test_a_reaction_is_a_vote_and_taking_it_back_takes_the_vote_back(
    bot: Bot, where: str, kind: str, vote: str
) -> None:
    asked, alice = await bot.answered(where=where), bot.person()
    await alice.react(bot.reply(asked), kind)
    assert await bot.votes(asked.id) == {ALICE: vote}
    await alice.unreact(bot.reply(asked), kind)
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize("kind", ["heart", "laugh", "surprised", "1f440_eyes", "", "LIKE "])
async def test_other_reactions_say_nothing_of_an_answer(bot: Bot, kind: str) -> None:
    asked = await bot.answered()
    await bot.person().react(bot.reply(asked), kind)
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize(("where", "person"), [(GUESTS, GUEST), (SHARED, STRANGER)])
async def test_colleagues_vote_and_nobody_else(bot: Bot, where: str, person: str) -> None:
    asked = await bot.answered(where=where)
    for each in (BOB, person):
        await bot.person(each).react(bot.reply(asked))
    assert await bot.votes(asked.id) == {BOB: "up"}


async def test_a_reaction_to_any_part_of_a_long_answer_counts(bot: Bot) -> None:
    asked = await bot.answered(LONG)
    *_, last = bot.teams.posts_in(HELP)
    assert last.id != bot.reply(asked).id
    await bot.person().react(last, "sad")
    assert await bot.votes(asked.id) == {ALICE: "down"}


async def test_what_is_no_answer_is_not_judged(bot: Bot) -> None:
    asked = await bot.answered(Outcome(HANDED_OVER, TRACE))
    await bot.person().react(bot.reply(asked))
    assert await bot.votes(asked.id) == {}


def _changed(bot: Bot, over: Sent, person: str = ALICE, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    human = bot.teams.people[person]
    told = turns.reacted(bot.teams, human, over, "like", "reactionsAdded")
    del told["reactionsAdded"]
    return {**told, **changes}


async def test_who_changes_a_reaction_changes_the_vote(bot: Bot) -> None:
    asked, alice = await bot.answered(), bot.person()
    await alice.react(bot.reply(asked))
    swapped: dict[str, Any] = {
        "reactionsAdded": [{"type": "sad"}],
        "reactionsRemoved": [{"type": "like"}],
    }
    await alice.deliver(_changed(bot, bot.reply(asked), **swapped))
    assert await bot.votes(asked.id) == {ALICE: "down"}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
async def test_what_a_person_did_last_counts_in_whatever_order_it_arrives_and_how_often(
    bot: Bot, order: tuple[int, ...]
) -> None:
    asked, alice = await bot.answered(), bot.person()
    alice.held = []
    await alice.react(bot.reply(asked))
    await alice.unreact(bot.reply(asked))
    await alice.react(bot.reply(asked), "angry")
    for each in [*order, *order]:
        await alice.deliver(alice.held[each])
    assert await bot.votes(asked.id) == {ALICE: "down"}


async def test_a_reaction_of_the_bot_itself_is_no_vote(bot: Bot) -> None:
    asked = await bot.answered()
    own = _changed(bot, bot.reply(asked), reactionsAdded=[{"type": "like"}])
    await bot.person().deliver({**own, "from": {"id": BOT}})
    assert await bot.votes(asked.id) == {}


async def test_a_reaction_from_another_channel_is_no_vote(bot: Bot) -> None:
    asked = await bot.answered()
    own = _changed(bot, bot.reply(asked), reactionsAdded=[{"type": "like"}])
    await bot.person().deliver({**own, "conversation": bot.teams.conversations[GROUP].told()})
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"reactionsAdded": "like"},
        {"reactionsAdded": [None, "like", {"type": 3}, {}]},
        {"reactionsAdded": [], "reactionsRemoved": [{"type": "heart"}]},
    ],
    ids=str,
)
def test_what_says_no_thumb_is_no_reaction_to_an_answer(told: dict[str, Any]) -> None:
    assert reaction_in(told) is None


def test_the_moment_is_told_in_seconds_and_is_now_where_nothing_says_it() -> None:
    liked = {"reactionsAdded": [{"type": "like"}]}
    told = reaction_in({**liked, "timestamp": "2026-11-21T10:00:00.123Z"})
    assert told is not None
    assert told.at == "1795255200.123000"
    for nothing in ({}, {"timestamp": "yesterday"}, {"timestamp": 5}):
        now = reaction_in({**liked, **nothing})
        assert now is not None
        assert float(now.at) > 1_700_000_000

"""Reactions as votes, in whatever order and however often they are told of."""

from __future__ import annotations

import itertools

import pytest

from bot.chat.votes import AnswerVotes, Reaction, ReactionVotes
from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Outcome
from bot.domain.messages import InteractionId
from bot.store.database import Store
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, TRACE
from tests.bot.recorded import answered
from tests.builders import message

UP, GONE = Reaction("1.000001", given="up"), Reaction("2.5", taken=frozenset({"up"}))
DOWN = Reaction("10.000000", given="down")


def _reacting(store: Store) -> ReactionVotes:
    """Return what another process would have."""
    judging = AnswerVotes(store.interactions)
    return ReactionVotes(platform="slack", tenant="default", judging=judging, notes=store.notes)


async def _asked(store: Store, outcome: Outcome | None = None) -> InteractionId:
    return (
        await answered(store, message("vpn?", private=False), outcome or Outcome(ANSWER, TRACE))
    ).id


async def _votes(store: Store, asked: InteractionId) -> list[str]:
    return [each.vote for each in await store.interactions.feedback(asked)]


@pytest.mark.parametrize("order", list(itertools.permutations([UP, GONE, DOWN])), ids=range(6))
async def test_the_last_one_counts(store: Store, order: tuple[Reaction, ...]) -> None:
    asked = await _asked(store)
    for reaction in [*order, *order]:
        await _reacting(store).count(asked, "ben", reaction)
    assert await _votes(store, asked) == ["down"]


async def test_a_new_vote_is_told_once(store: Store) -> None:
    asked, reacting = await _asked(store), _reacting(store)
    told = [await reacting.count(asked, "ben", each) for each in (UP, UP, DOWN, DOWN)]
    assert told == ["up", None, "down", None]


async def test_taking_back_leaves_a_vote_that_was_given_otherwise(store: Store) -> None:
    asked = await _asked(store)
    await AnswerVotes(store.interactions).vote("default", asked, "ben", "down")
    await _reacting(store).count(asked, "ben", GONE)
    assert await _votes(store, asked) == ["down"]


async def test_what_can_not_be_judged_is_not_counted(store: Store) -> None:
    asked = await _asked(store, Outcome(HANDED_OVER, TRACE))
    assert await _reacting(store).count(asked, "ben", UP) is None
    assert await _votes(store, asked) == []


async def test_what_is_not_there_is_not_counted(store: Store) -> None:
    unknown = InteractionId("00000000-0000-4000-8000-000000000000")
    assert await _reacting(store).count(unknown, "ben", UP) is None
    with pytest.raises(InteractionUnknown):
        await AnswerVotes(store.interactions).vote("default", unknown, "ben", "up")

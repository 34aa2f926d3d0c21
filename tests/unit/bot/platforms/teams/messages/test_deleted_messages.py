"""Test which deletions are remembered of messages that have not come yet."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace

from bot.domain.messages import Message
from bot.platforms.teams.messages.intake import DeletedMessages
from bot.store.database import Store
from tests.fakes.chat_context import chat_context_over
from tests.fakes.desk import KeepingInbox
from tests.fakes.teams.activities import question
from tests.fakes.teams.server import FakeTeams


def deleted_of(store: Store) -> DeletedMessages:
    seconds = itertools.count()
    context = chat_context_over(store, KeepingInbox(), tenant="acme")
    return DeletedMessages(context, clock=lambda: float(next(seconds)))


def messages(teams: FakeTeams, number: int) -> list[Message]:
    return [replace(question(teams), id=str(n)) for n in range(number)]


async def test_messages_deleted_at_the_same_time_are_all_remembered(
    teams: FakeTeams, store: Store
) -> None:
    deleted, gone = deleted_of(store), messages(teams, 10)
    await asyncio.gather(*(deleted.note(each) for each in gone))
    assert [await deleted_of(store).has(each) for each in gone] == [True] * len(gone)


async def test_a_deletion_is_taken_back_for_one_message_alone(
    teams: FakeTeams, store: Store
) -> None:
    deleted, (one, other) = deleted_of(store), messages(teams, 2)
    await deleted.note(one)
    await deleted.note(other)
    await deleted.forget(one)
    assert [await deleted.has(one), await deleted.has(other)] == [False, True]


async def test_the_last_fifty_of_a_conversation_are_remembered(
    teams: FakeTeams, store: Store
) -> None:
    deleted, gone = deleted_of(store), messages(teams, 52)
    for each in gone:
        await deleted.note(each)
    assert [await deleted.has(each) for each in gone] == [False] * 2 + [True] * 50

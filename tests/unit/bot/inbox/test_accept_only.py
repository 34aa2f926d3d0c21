"""A server that only keeps messages, and those on the same record that answer them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from bot.app.worker import BuiltInbox
from bot.domain.errors import InboxFull
from bot.domain.messages import InteractionId, Message
from bot.inbox.accept_only import AcceptOnlyEngine
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from tests.fakes.bot_ports import EchoDesk, FakePlatform, MemoryEngine, generic_outcome
from tests.fakes.builders import message
from tests.fakes.durable_inbox import (
    SOON,
    inbox_over,
    running,
    stored_interaction,
    wait_for_interaction,
    wait_until_posted,
)

ASKED = message("hello", platform="slack")
ID = ASKED.interaction_id


async def forget_nothing(_: Sequence[InteractionId]) -> None:
    """There is nothing of any engine."""


def keeper(store: Store, *, limits: WorkLimits = SOON) -> BuiltInbox:
    platform = FakePlatform()
    return inbox_over(
        store,
        channels={platform.platform: platform},
        limits=limits,
        engine=AcceptOnlyEngine(forget_nothing),
        alone=False,
        works=False,
    )


def worker(store: Store, name: str, board: FakePlatform, desk: EchoDesk) -> BuiltInbox:
    return inbox_over(
        store,
        desk=desk,
        channels={board.platform: board},
        engine=MemoryEngine(name),
        alone=False,
    )


def questions(count: int) -> Sequence[Message]:
    return [
        message(f"q{n}", message_id=f"m{n}", platform="slack", thread=f"t{n % 7}", person=f"p{n}")
        for n in range(count)
    ]


async def test_what_is_kept_waits_for_a_server_that_works(store: Store) -> None:
    board, desk = FakePlatform(), EchoDesk()
    async with running(keeper(store)) as inbox:
        await inbox.accept(ASKED)
        assert (await stored_interaction(store, ID)).claim is None
        assert inbox.busy == 0

        async with running(worker(store, "one", board, desk)):
            outcome = await asyncio.wait_for(inbox.outcome(ID), 60)
            await wait_until_posted(store, ID)

    assert outcome == generic_outcome("You said: hello")
    assert board.posted == 1


async def test_servers_that_work_share_what_is_kept_and_answer_each_once(store: Store) -> None:
    board, desk = FakePlatform(), EchoDesk()
    workers = [worker(store, name, board, desk) for name in ("one", "other")]
    asked = questions(40)
    async with running(keeper(store)) as inbox, running(workers[0]), running(workers[1]):
        await asyncio.gather(*map(inbox.accept, asked), *map(inbox.accept, asked))
        for each in asked:
            await wait_until_posted(store, each.interaction_id)

    assert sorted(desk.handled) == sorted(each.text for each in asked)
    assert board.posted == len(board.posts) == len(asked)


async def test_a_question_is_withdrawn_where_it_was_kept(store: Store) -> None:
    board, desk = FakePlatform(), EchoDesk()
    async with running(keeper(store)) as inbox:
        await inbox.accept(ASKED)
        await inbox.cancel(ID)
        async with running(worker(store, "one", board, desk)):
            await wait_for_interaction(store, ID, lambda kept: kept.status == "cancelled")

    assert desk.handled == []


async def test_who_only_keeps_refuses_what_nobody_could_answer_in_time(store: Store) -> None:
    built = keeper(store, limits=WorkLimits(waiting=2, drain_seconds=0))
    async with running(built) as inbox:
        first, second, third = questions(3)
        await asyncio.gather(inbox.accept(first), inbox.accept(second))
        inbox.note_unanswered(await store.replicas.unanswered())
        with pytest.raises(InboxFull, match="2 questions are waiting"):
            await inbox.accept(third)


async def test_it_says_whether_anybody_answers(store: Store) -> None:
    first = keeper(store)
    async with running(first):
        alone = first.supervisor.part()

    second = keeper(store)
    async with running(worker(store, "one", FakePlatform(), EchoDesk())), running(second):
        answered = second.supervisor.part()

    assert (alone.state, answered.state) == ("limited", "ready")
    assert "FRONTDESK_ROLE=work" in alone.cure
    assert "1 server answers" in answered.detail


async def test_everyones_first_is_taken_before_anyones_second(store: Store) -> None:
    busy = [message(f"b{n}", message_id=f"b{n}", person="busy", thread=f"b{n}") for n in range(4)]
    other = message("one", message_id="one", person="other", thread="one")
    for each in (*busy, other):
        await store.work.open(each, None)

    taken = await store.work.take("me", 2)

    assert [each.message.text for each in taken] == ["b0", "one"]
    assert {each.claim.owner for each in taken if each.claim} == {"me"}
    assert len(await store.work.take("another", 9)) == 3
    assert await store.work.take("me", 9) == []
    assert await store.replicas.unanswered() == 5

"""Replies that wait for their turn on a platform, run by hand."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import Outcome
from bot.domain.messages import InteractionId, Message
from bot.inbox.accept import DurableInbox
from bot.store.database import Store
from tests.bot.boards import IdleEngine, QueueingBoard
from tests.bot.durable.test_lease import Clock
from tests.bot.fakes import EchoDesk, replied
from tests.bot.inboxes import inbox_over, running
from tests.bot.recorded import recorded
from tests.builders import message

FULL = DeliveryFailed("The board is full.")


def asked(number: int) -> Message:
    """Questions of several threads in one channel."""
    return message(
        f"q{number}", message_id=f"m{number}", platform="slack", channel="C1", thread=f"t{number}"
    )


ONE, TWO = asked(1), asked(2)
ID = ONE.interaction_id


async def by_hand(
    store: Store, board: QueueingBoard, *questions: Message, desk: EchoDesk | None = None
) -> DurableInbox:
    """Return an inbox that has taken questions, and works only when ``run`` is called."""
    engine = IdleEngine()
    inbox = inbox_over(store, desk=desk, channels={"slack": board}, engine=engine).inbox
    inbox.open()
    for each in questions:
        await inbox.accept(each)
    return inbox


def running_on(inbox: DurableInbox, interaction_id: InteractionId) -> asyncio.Task[float | None]:
    return asyncio.create_task(inbox.run(interaction_id))


async def test_replies_to_one_place_are_posted_one_after_the_other_in_order(store: Store) -> None:
    board, questions = QueueingBoard(), [asked(number) for number in range(5)]
    inbox = await by_hand(store, board, *questions)
    async with board.place:
        works = []
        for number, each in enumerate(questions):
            works.append(running_on(inbox, each.interaction_id))
            await board.lines_up(*(f"q{n}" for n in range(number + 1)))
        assert board.tried == 0

    assert await asyncio.gather(*works) == [None] * 5
    assert list(board.posts.values()) == [f"You said: q{n}" for n in range(5)]
    assert (board.turns, board.found, board.queue) == (5, 0, [])


async def test_a_turn_may_come_later_than_a_platform_may_take(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.outbox._DEADLINE_SECONDS", 0.05)
    board = QueueingBoard()
    inbox = await by_hand(store, board, ONE)
    async with board.place:
        work = running_on(inbox, ID)
        await board.lines_up("q1")
        await asyncio.sleep(0.2)

    assert await work is None
    assert board.posted == 1


async def test_a_platform_that_never_answers_gives_the_turn_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.outbox._DEADLINE_SECONDS", 0.05)
    board = QueueingBoard(asyncio.Event().wait)
    inbox = await by_hand(store, board, ONE)

    assert await inbox.run(ID) is not None

    assert (board.turns, board.place.locked()) == (1, False)
    assert (await recorded(store, ID)).attempts == 1


async def test_a_turn_is_for_one_attempt_and_those_behind_go_on(store: Store) -> None:
    board = QueueingBoard(FULL)
    inbox = await by_hand(store, board, ONE, TWO)
    async with board.place:
        first = running_on(inbox, ID)
        await board.lines_up("q1")
        second = running_on(inbox, TWO.interaction_id)
        await board.lines_up("q1", "q2")

    assert await first is not None
    assert await second is None
    assert await inbox.run(ID) is None
    assert list(board.posts.values()) == ["You said: q2", "You said: q1"]
    assert (board.turns, board.found) == (3, 1)


async def test_a_withdrawn_question_leaves_the_queue_at_once(store: Store) -> None:
    board = QueueingBoard()
    inbox = await by_hand(store, board, ONE, TWO)
    async with board.place:
        first = running_on(inbox, ID)
        await board.lines_up("q1")
        second = running_on(inbox, TWO.interaction_id)
        await board.lines_up("q1", "q2")

        await inbox.cancel(ID)

        async with asyncio.timeout(5):
            assert await first is None
        await board.lines_up("q2")
        assert await inbox.run(ID) is None
        assert (await recorded(store, ID)).status == "cancelled"

    assert await second is None
    assert list(board.posts.values()) == ["You said: q2"]


async def test_a_withdrawal_by_another_process_is_seen_when_the_turn_comes(store: Store) -> None:
    board = QueueingBoard()
    inbox = await by_hand(store, board, ONE)
    async with board.place:
        work = running_on(inbox, ID)
        await board.lines_up("q1")
        await store.work.cancel(ID)

    assert await work is None
    assert (board.tried, board.queue) == (0, [])
    assert (await recorded(store, ID)).status == "cancelling"


async def test_a_reply_that_is_being_posted_is_not_broken_off_but_taken_back(store: Store) -> None:
    async def withdrawn_meanwhile() -> None:
        await inbox.cancel(ID)

    board = QueueingBoard(withdrawn_meanwhile)
    inbox = await by_hand(store, board, ONE)

    assert await inbox.run(ID) is None

    assert (board.posted, board.posts) == (1, {})
    assert (await recorded(store, ID)).status == "cancelled"


async def test_who_loses_its_lease_while_it_waits_posts_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("bot.inbox.heartbeat.time", clock)
    monkeypatch.setattr("bot.inbox.outbox._LEASE_CHECK_SECONDS", 0.01)
    board = QueueingBoard()
    opened = inbox_over(store, channels={"slack": board}, engine=IdleEngine(), alone=False)
    async with running(opened) as inbox, board.place:
        await inbox.accept(ONE)
        work = running_on(inbox, ID)
        await board.lines_up("q1")
        with capture_logs() as logs:
            clock.now += 60
            assert await work is None

    assert "work.claim_lost" in [line["event"] for line in logs]
    assert (board.tried, board.queue) == (0, [])
    assert (await recorded(store, ID)).posting is False


async def test_what_never_had_its_turn_needs_no_look_up_after_a_death(store: Store) -> None:
    board = QueueingBoard()
    inbox = await by_hand(store, board, ONE)
    async with board.place:
        work = running_on(inbox, ID)
        await board.lines_up("q1")
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    kept = await recorded(store, ID)
    assert (kept.status, kept.posting, kept.attempts) == ("done", False, 0)

    assert await inbox.run(ID) is None

    assert (board.posted, board.found) == (1, 0)


async def test_what_had_its_turn_is_looked_up_after_a_death(store: Store) -> None:
    reached = asyncio.Event()

    async def dies() -> None:
        reached.set()
        await asyncio.Event().wait()

    board = QueueingBoard(dies)
    inbox = await by_hand(store, board, ONE)
    work = running_on(inbox, ID)
    await reached.wait()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert (await recorded(store, ID)).posting

    assert await inbox.run(ID) is None

    assert (board.posted, board.found) == (1, 1)


async def test_what_is_only_recorded_waits_for_no_turn(store: Store) -> None:
    async def alone(_: Message) -> Outcome:
        return replace(replied("hi"), silent=True)

    board = QueueingBoard()
    overheard = replace(ONE, overheard=True)
    inbox = await by_hand(store, board, overheard, desk=EchoDesk(alone))

    async with board.place, asyncio.timeout(5):
        assert await inbox.run(ID) is None

    assert (board.turns, board.tried, board.activities) == (0, 0, [])
    assert (await recorded(store, ID)).posted is not None

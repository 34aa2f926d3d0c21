"""Several servers on one record: each message is answered once, by whichever has it."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from bot.app.worker import BuiltInbox
from bot.domain.errors import InboxFull, InboxUnavailable, InteractionUnknown
from bot.domain.messages import InteractionId, Message
from bot.inbox.worker import WorkLimits
from bot.store.database import Store
from tests.bot.boards import EventfulBoard, IdleEngine
from tests.bot.fakes import Board, EchoDesk, Gate, MemoryEngine, replied
from tests.bot.inboxes import SOON, inbox_over, running
from tests.bot.recorded import becomes, posted, recorded
from tests.builders import message

ASKED = message("hello", platform="slack")
ID = ASKED.interaction_id


def server(
    store: Store, name: str, board: Board, desk: EchoDesk, *, limits: WorkLimits = SOON
) -> BuiltInbox:
    return inbox_over(
        store,
        desk=desk,
        channels={board.platform: board},
        limits=limits,
        engine=MemoryEngine(name),
        alone=False,
    )


async def test_a_message_that_two_servers_are_given_at_once_is_answered_once(
    store: Store,
) -> None:
    board, desk = Board(), EchoDesk()
    one, other = (server(store, name, board, desk) for name in ("one", "other"))
    async with running(one) as here, running(other) as there:
        accepted = await asyncio.gather(*(side.accept(ASKED) for side in (here, there) * 10))
        outcomes = await asyncio.gather(here.outcome(ID), there.outcome(ID))
        await posted(store, ID)
        accepted += await asyncio.gather(here.accept(ASKED), there.accept(ASKED))

    assert set(accepted) == {ID}
    assert list(outcomes) == [replied("You said: hello")] * 2
    assert desk.handled == ["hello"]
    assert board.posted == 1


async def test_many_messages_that_many_servers_are_given_are_each_answered_once(
    store: Store,
) -> None:
    board, desk = Board(), EchoDesk()
    servers = [server(store, f"s{n}", board, desk) for n in range(3)]
    asked: list[Message] = [
        message(f"q{n}", message_id=f"m{n}", platform="slack", thread=f"t{n % 7}")
        for n in range(21)
    ]
    async with running(servers[0]), running(servers[1]), running(servers[2]):
        for each in asked:
            await asyncio.gather(*(side.inbox.accept(each) for side in servers))
        for each in asked:
            await posted(store, each.interaction_id)

    assert sorted(desk.handled) == sorted(each.text for each in asked)
    assert board.posted == len(board.posts) == len(asked)


async def test_an_answer_of_another_server_is_waited_for(store: Store) -> None:
    gate = Gate()
    one = server(store, "one", Board(), EchoDesk(gate))
    other = server(store, "other", Board(), EchoDesk())
    async with running(one) as here, running(other) as there:
        await here.accept(ASKED)
        await gate.reached.wait()
        assert await there.accept(ASKED) == ID
        waiting = asyncio.create_task(there.outcome(ID))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        gate.open()

        assert await asyncio.wait_for(waiting, 5) == replied("You said: hello")


async def test_a_question_is_withdrawn_whichever_server_is_told(store: Store) -> None:
    gate, board = Gate(), Board()
    one = server(store, "one", board, EchoDesk(gate))
    other = server(store, "other", board, EchoDesk())
    async with running(one) as here, running(other) as there:
        await here.accept(ASKED)
        await gate.reached.wait()
        await there.cancel(ID)
        gate.open()
        await becomes(store, ID, lambda kept: kept.status == "cancelled")

        for side in (here, there):
            with pytest.raises(InteractionUnknown, match="withdrawn"):
                await side.outcome(ID)
    assert board.posts == {}


async def test_a_server_that_goes_leaves_its_work_to_another_at_once(store: Store) -> None:
    board, desk = Board(), EchoDesk()
    leaving = server(store, "one", board, EchoDesk(Gate()), limits=WorkLimits(drain_seconds=0))
    async with running(leaving) as inbox:
        await inbox.accept(ASKED)

    async with running(server(store, "other", board, desk)) as inbox:
        assert await asyncio.wait_for(inbox.outcome(ID), 5) == replied("You said: hello")
    assert desk.handled == ["hello"]


async def test_before_the_start_and_after_the_end_nothing_is_accepted(store: Store) -> None:
    opened = inbox_over(store)
    with pytest.raises(InboxUnavailable, match=r"starting\. Send it again"):
        await opened.inbox.accept(ASKED)

    await opened.keeper.start()
    await opened.inbox.outcome(await opened.inbox.accept(message("hello")))
    await opened.keeper.stop()

    with pytest.raises(InboxUnavailable, match=r"stopping\. Send it again"):
        await opened.inbox.accept(ASKED)
    assert await store.interactions.get(ID) is None


async def test_the_api_is_refused_where_a_platform_is_told_until_that_is_too_much(
    store: Store,
) -> None:
    board = EventfulBoard()
    opened = inbox_over(
        store,
        channels={board.platform: board},
        limits=WorkLimits(waiting=2, drain_seconds=0),
        engine=IdleEngine(),
    )
    opened.inbox.open()

    async def give(number: int, *, told: bool) -> InteractionId:
        kind = "slack" if told else "rest"
        asked = message(f"q{number}", message_id=f"m{number}", platform=kind, thread=f"t{number}")
        return await opened.inbox.accept(asked)

    await give(0, told=True)
    await give(1, told=False)
    with pytest.raises(InboxFull, match="2 questions are waiting"):
        await give(2, told=False)
    for number in (3, 4):
        await opened.inbox.run(await give(number, told=True))
    await give(5, told=True)
    await give(6, told=True)
    with pytest.raises(InboxFull, match="4 questions are waiting"):
        await give(7, told=True)

    assert [text.startswith("More questions") for text in board.posts.values()] == [True, True]


async def test_what_waits_for_a_platform_leaves_room_for_others(store: Store) -> None:
    board = EventfulBoard(*[RuntimeError("a defect")] * 2)
    opened = inbox_over(
        store,
        channels={board.platform: board},
        limits=WorkLimits(waiting=1),
        engine=IdleEngine(),
    )
    opened.inbox.open()
    await opened.inbox.accept(ASKED)
    assert await opened.inbox.run(ID) is not None

    assert await opened.inbox.accept(message("another", platform="rest"))


async def test_what_is_not_done_in_time_is_left_and_said(store: Store) -> None:
    limits = WorkLimits(drain_seconds=0.05)
    with capture_logs() as logs:
        async with running(inbox_over(store, desk=EchoDesk(Gate()), limits=limits)) as inbox:
            await inbox.accept(ASKED)

    assert [line["unfinished"] for line in logs if line["event"] == "inbox.not_drained"] == [1]
    assert [each.id for each in await store.work.unfinished()] == [ID]


async def test_work_that_the_engine_forgot_is_taken_up_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.in_flight.GRACE_SECONDS", 0.0)
    engine = IdleEngine()
    opened = inbox_over(store, engine=engine)
    opened.inbox.open()
    await opened.inbox.accept(ASKED)

    assert await opened.inbox.adopt() == 1

    assert engine.begun == [ID, f"{ID}:1"]
    assert (await recorded(store, ID)).status == "working"


async def test_work_that_is_under_way_is_not_taken_up_twice(store: Store) -> None:
    gate = Gate()
    opened = inbox_over(store, desk=EchoDesk(gate), engine=IdleEngine())
    opened.inbox.open()
    await opened.inbox.accept(ASKED)
    assert await opened.inbox.adopt() == 0
    working = asyncio.create_task(opened.inbox.run(ID))
    await gate.reached.wait()

    assert await opened.inbox.adopt() == 0

    gate.open()
    await working
    assert await opened.inbox.adopt() == 0

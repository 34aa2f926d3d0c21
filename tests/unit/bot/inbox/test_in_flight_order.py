"""Tests of the order of messages within a thread."""

from __future__ import annotations

import asyncio
import random
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import pytest

from bot.domain.interactions import Interaction
from bot.domain.messages import InteractionId, Message
from bot.inbox.in_flight import ThreadOrder
from bot.store.database import Store
from tests.fakes.bot_ports import EchoDesk, MemoryEngine
from tests.fakes.builders import NOON, message
from tests.fakes.durable_inbox import inbox_over, running

pytestmark = pytest.mark.usefixtures("_quick_looks")


@pytest.fixture
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.inbox.in_flight._FIRST_POLL_SECONDS", 0.002)
    monkeypatch.setattr("bot.inbox.in_flight._LONGEST_POLL_SECONDS", 0.01)


def _nothing_lent(_: InteractionId) -> AbstractContextManager[None]:
    return nullcontext()


def arrived(number: int, *, thread: str = "t1") -> Interaction:
    asked = message(f"question {number}", message_id=f"{thread}-{number}", thread=thread)
    return Interaction(asked.interaction_id, asked, "working", NOON, number=number)


@dataclass
class Record:
    """Knows what arrived and is not answered yet."""

    unfinished: list[Interaction] = field(default_factory=list)
    asked: int = 0

    async def behind(self, interaction: Interaction) -> bool:
        self.asked += 1
        await asyncio.sleep(0)
        return any(
            each.message.thread == interaction.message.thread and each.number < interaction.number
            for each in self.unfinished
        )


@pytest.mark.parametrize("seed", range(5))
async def test_a_thread_keeps_the_order_of_arrival_however_its_work_begins(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - an order to try
    all_of_them = [arrived(n, thread=f"t{n % 3}") for n in range(30)]
    record, done = Record(list(all_of_them)), list[Interaction]()
    order = ThreadOrder(record.behind, _nothing_lent)

    async def work(interaction: Interaction) -> None:
        await asyncio.sleep(chance.uniform(0, 0.01))
        async with order.turn(interaction):
            await asyncio.sleep(chance.uniform(0, 0.002))
            done.append(interaction)
            record.unfinished.remove(interaction)

    await asyncio.gather(*(work(each) for each in chance.sample(all_of_them, 30)))

    for thread in ("t0", "t1", "t2"):
        numbers = [each.number for each in done if each.message.thread.id == thread]
        assert numbers == sorted(numbers)
        assert len(numbers) == 10


async def test_one_at_a_time_in_a_thread_and_threads_at_once() -> None:
    order, inside, most = ThreadOrder(Record().behind, _nothing_lent), dict[str, int](), list[int]()

    async def work(interaction: Interaction) -> None:
        thread = interaction.message.thread.id
        async with order.turn(interaction):
            inside[thread] = inside.get(thread, 0) + 1
            assert inside[thread] == 1
            most.append(sum(inside.values()))
            await asyncio.sleep(0.005)
            inside[thread] -= 1

    await asyncio.gather(*(work(arrived(n, thread=f"t{n % 4}")) for n in range(20)))

    assert max(most) == 4


async def test_who_is_cancelled_while_waiting_holds_up_nobody() -> None:
    order, entered = ThreadOrder(Record().behind, _nothing_lent), asyncio.Event()

    async def work(interaction: Interaction) -> None:
        async with order.turn(interaction):
            entered.set()

    async with order.turn(arrived(1)):
        waiting = asyncio.create_task(work(arrived(2)))
        last = asyncio.create_task(work(arrived(3)))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.sleep(0.01)
        assert not entered.is_set()

    await asyncio.wait_for(last, 60)
    assert waiting.cancelled()


async def test_a_turn_that_ends_in_an_error_is_over() -> None:
    order = ThreadOrder(Record().behind, _nothing_lent)

    with pytest.raises(RuntimeError, match="broke"):
        async with order.turn(arrived(1)):
            raise RuntimeError("broke")

    async with asyncio.timeout(60), order.turn(arrived(2)):
        pass


async def test_an_earlier_message_elsewhere_is_waited_for() -> None:
    record, entered = Record([arrived(1)]), asyncio.Event()

    async def work() -> None:
        async with ThreadOrder(record.behind, _nothing_lent).turn(arrived(2)):
            entered.set()

    waiting = asyncio.create_task(work())
    await asyncio.sleep(0.05)
    assert not entered.is_set()
    record.unfinished.clear()

    await asyncio.wait_for(waiting, 60)
    assert record.asked > 2


async def test_an_endless_message_is_overtaken_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.inbox.in_flight._PATIENCE_SECONDS", 0.05)
    order = ThreadOrder(Record([arrived(1)]).behind, _nothing_lent)

    async with asyncio.timeout(60), order.turn(arrived(2)):
        pass


async def test_two_servers_keep_the_order_of_a_thread_between_them(store: Store) -> None:
    desk = EchoDesk()
    sides = [
        inbox_over(store, desk=desk, engine=MemoryEngine(name), alone=False) for name in ("a", "b")
    ]
    async with running(sides[0]), running(sides[1]):
        asked: list[Message] = [arrived(number).message for number in range(12)]
        ids = [await sides[n % 2].inbox.accept(each) for n, each in enumerate(asked)]
        for side in sides:
            await asyncio.gather(*(side.inbox.outcome(each) for each in ids))

    assert desk.finished == [each.text for each in asked]
    assert desk.most_busy == 1

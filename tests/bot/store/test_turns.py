from __future__ import annotations

import asyncio
from contextlib import suppress

from bot.store.connections import PriorityLock


async def served(turns: PriorityLock, order: list[str], name: str, *, urgent: bool = False) -> None:
    async with turns.turn(urgent=urgent):
        order.append(name)
        await asyncio.sleep(0)


async def all_at_once(urgent: int, others: int) -> str:
    """Return the order in which they come when all wait for the same one, the others first."""
    turns, order = PriorityLock(), list[str]()
    async with turns.turn():
        waiting = [asyncio.create_task(served(turns, order, "o")) for _ in range(others)]
        waiting += [
            asyncio.create_task(served(turns, order, "u", urgent=True)) for _ in range(urgent)
        ]
        await asyncio.sleep(0.01)
        assert order == []
    await asyncio.gather(*waiting)
    return "".join(order)


async def test_one_goes_at_a_time_in_order() -> None:
    turns, order, inside = PriorityLock(), list[int](), list[int]()

    async def go(number: int) -> None:
        async with turns.turn():
            inside.append(number)
            await asyncio.sleep(0)
            order.append(number)
            assert inside == [number]
            inside.clear()

    await asyncio.gather(*(go(number) for number in range(20)))

    assert order == list(range(20))


async def test_the_urgent_go_first() -> None:
    assert await all_at_once(urgent=3, others=2) == "uuuoo"


async def test_the_others_are_not_held_up_for_ever() -> None:
    assert await all_at_once(urgent=9, others=2) == "uuuuouuuuou"


async def test_one_that_fails_lets_the_next_go() -> None:
    turns, order = PriorityLock(), list[str]()

    with suppress(RuntimeError):
        async with turns.turn():
            raise RuntimeError

    await asyncio.wait_for(served(turns, order, "next"), 1)
    assert order == ["next"]


async def test_one_that_stops_waiting_takes_no_turn() -> None:
    turns, order = PriorityLock(), list[str]()
    async with turns.turn():
        gone = asyncio.create_task(served(turns, order, "gone"))
        stays = asyncio.create_task(served(turns, order, "stays"))
        await asyncio.sleep(0)
        gone.cancel()
    await asyncio.wait_for(stays, 1)

    assert order == ["stays"]


async def test_one_that_is_cancelled_when_its_turn_comes_passes_it_on() -> None:
    turns, order = PriorityLock(), list[str]()
    async with turns.turn():
        gone = asyncio.create_task(served(turns, order, "gone"))
        stays = asyncio.create_task(served(turns, order, "stays"))
        await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait_for(stays, 1)

    assert order == ["stays"]

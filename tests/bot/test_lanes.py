from __future__ import annotations

import asyncio

import pytest

from bot.lanes import Job, Lanes, wait_or_cancel


def job(done: list[str], name: str, *, until: asyncio.Event | None = None) -> Job:
    async def run() -> None:
        if until is not None:
            await until.wait()
        done.append(name)

    return run


async def test_a_lane_keeps_its_order() -> None:
    lanes, done = Lanes(8), list[str]()
    held = asyncio.Event()
    lanes.add("a", job(done, "a1", until=held))
    lanes.add("a", job(done, "a2"))
    lanes.add("b", job(done, "b1"))
    await asyncio.sleep(0.01)

    assert done == ["b1"]

    held.set()
    await lanes.drain(5)
    assert done == ["b1", "a1", "a2"]


async def test_no_more_jobs_run_at_once_than_allowed() -> None:
    lanes, busy, most = Lanes(3), 0, 0

    async def run() -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.001)
        busy -= 1

    for number in range(20):
        lanes.add(str(number), run)
    await lanes.drain(5)

    assert (most, busy) == (3, 0)


async def test_what_is_not_done_in_time_is_cancelled() -> None:
    lanes, done = Lanes(1), list[str]()
    lanes.add("a", job(done, "never", until=asyncio.Event()))
    lanes.add("a", job(done, "after"))

    await lanes.drain(0.01)

    assert done == []


async def test_draining_nothing_takes_no_time() -> None:
    await Lanes(1).drain(60)


async def test_whoever_stops_waiting_stops_the_work() -> None:
    work = asyncio.create_task(asyncio.sleep(60))
    waiter = asyncio.create_task(wait_or_cancel(work))
    await asyncio.sleep(0)
    waiter.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiter

    assert work.cancelled()


async def test_work_that_is_cancelled_does_not_stop_the_waiter() -> None:
    work = asyncio.create_task(asyncio.sleep(60))
    waiter = asyncio.create_task(wait_or_cancel(work))
    await asyncio.sleep(0)
    work.cancel()

    await waiter

"""Calls that block: side by side, apart from everything else, and never in the way of a stop."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.client.connections import CONNECTIONS, DaemonThreadPool
from bot.platforms.teams.rendering.answers import typing_activity
from tests.bot.adapters.teams.activities import question
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.faults import Fault

_HANGING = """
import asyncio, sys, time
from bot.platforms.teams.client.connections import Threads

async def main():
    hanging = asyncio.get_running_loop().run_in_executor(Threads(1), time.sleep, 3600)
    await asyncio.wait([hanging], timeout=0.1)

asyncio.run(main())
"""


async def test_as_many_calls_as_allowed_run_side_by_side() -> None:
    threads, together = DaemonThreadPool(4), threading.Barrier(4, timeout=10.0)
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(loop.run_in_executor(threads, together.wait) for _ in range(8)))


async def test_no_more_calls_run_than_are_allowed() -> None:
    threads, loop = DaemonThreadPool(3), asyncio.get_running_loop()
    names = [
        await asyncio.gather(*(loop.run_in_executor(threads, _name) for _ in range(20)))
        for _ in range(3)
    ]
    assert {name for each in names for name in each} <= {"teams-1", "teams-2", "teams-3"}


async def test_what_a_call_raises_is_raised_to_who_waits() -> None:
    with pytest.raises(ZeroDivisionError):
        await asyncio.get_running_loop().run_in_executor(DaemonThreadPool(1), lambda: 1 // 0)


async def test_a_call_that_nobody_waits_for_any_more_is_not_begun() -> None:
    threads, may = DaemonThreadPool(1), threading.Event()
    done: list[str] = []
    loop = asyncio.get_running_loop()
    first = loop.run_in_executor(threads, may.wait)
    given_up = loop.run_in_executor(threads, done.append, "given up")
    given_up.cancel()
    # The loop tells the threads of it in its next turn.
    await asyncio.sleep(0)
    may.set()
    await first
    await loop.run_in_executor(threads, done.append, "waited for")
    assert done == ["waited for"]


async def test_threads_end_with_who_made_them() -> None:
    threads = DaemonThreadPool(2)
    loop = asyncio.get_running_loop()
    begun = await loop.run_in_executor(threads, threading.current_thread)
    del threads
    gc.collect()
    await asyncio.to_thread(begun.join, 10.0)
    assert not begun.is_alive()


async def test_a_process_ends_though_a_call_hangs() -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _HANGING)
    async with asyncio.timeout(20.0):
        assert await process.wait() == 0


async def test_a_connector_that_hangs_leaves_the_loops_own_threads_alone(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    """Msrest calls in the loop's own, in which names are looked up and work is begun."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    teams.fail(*[Fault(200, seconds=60.0)] * CONNECTIONS, call="typing")
    there = question(teams, private=True).reply_to
    sends = [
        asyncio.create_task(channel.connector.send(there, typing_activity())) for _ in range(5)
    ]
    while teams.calls.count("typing") < len(sends):  # noqa: ASYNC110 - they get there soon
        await asyncio.sleep(0.01)
    assert await asyncio.to_thread(_name)
    for send in sends:
        send.cancel()
    await asyncio.gather(*sends, return_exceptions=True)


def _name() -> str:
    return threading.current_thread().name

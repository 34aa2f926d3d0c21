"""What arrives goes before work in the background, which goes on all the same."""

from __future__ import annotations

import asyncio
import time

import pytest

from bot.domain.precedence import Precedence, background, foreground


def _precedence() -> Precedence:
    made = Precedence()
    asyncio.get_running_loop().set_task_factory(made.new_task)
    return made


async def _steps(done: list[str], name: str, count: int) -> str:
    for _ in range(count):
        end = time.monotonic() + 0.002
        while time.monotonic() < end:
            pass
        done.append(name)
        await asyncio.sleep(0)
    return name


async def test_a_request_is_not_held_up_by_every_background_task() -> None:
    precedence = _precedence()
    done: list[str] = []
    with background():
        tasks = [asyncio.create_task(_steps(done, "background", 20)) for _ in range(10)]
    await asyncio.sleep(0)

    with precedence.arriving():
        await _steps(done, "request", 20)

    before = done[: len(done) - done[::-1].index("request")]
    assert before.count("background") < 3 * 20
    assert await asyncio.gather(*tasks) == ["background"] * 10


async def test_background_work_goes_on_while_requests_arrive_all_the_time() -> None:
    precedence = _precedence()
    done: list[str] = []
    with background():
        task = asyncio.create_task(_steps(done, "background", 3))

    with precedence.arriving():
        async with asyncio.timeout(60):
            while not task.done():
                precedence.expect()
                await asyncio.sleep(0.001)

    assert await task == "background"


async def test_what_holds_a_lock_is_not_held_back() -> None:
    precedence = _precedence()
    lock = asyncio.Lock()

    async def holding() -> None:
        with foreground():
            async with lock:
                for _ in range(2000):
                    await asyncio.sleep(0)

    with background():
        task = asyncio.create_task(holding())
    await asyncio.sleep(0)
    with precedence.arriving():
        precedence.expect()
        # Held back, so many steps would take two hundred seconds.
        async with asyncio.timeout(60):
            async with lock:
                assert lock.locked()
            await task


async def test_results_errors_and_cancellation_are_those_of_the_work() -> None:
    _precedence()

    async def failing() -> None:
        await asyncio.sleep(0)
        raise ValueError("broken")

    async def caught() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "cancelled"
        return "not cancelled"

    with background():
        broken = asyncio.create_task(failing())
        stopped = asyncio.create_task(caught())
    with pytest.raises(ValueError, match="broken"):
        await broken
    stopped.cancel()
    assert await stopped == "cancelled"


async def test_only_what_background_work_starts_is_in_the_background() -> None:
    precedence = _precedence()
    begun: list[str] = []

    async def child() -> None:
        await _steps(begun, "child", 1)

    async def parent() -> None:
        await asyncio.create_task(child())

    with background():
        task = asyncio.create_task(parent())
    own = asyncio.create_task(_steps(begun, "own", 1))
    with precedence.arriving():
        await own
    await task

    assert begun == ["own", "child"]

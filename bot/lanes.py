"""Work in lanes: one after the other within a lane, lanes at the same time, bounded."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

Job = Callable[[], Awaitable[None]]
"""Never raises but when it is cancelled."""


class Lanes:
    """Runs jobs; at most ``concurrency`` at once."""

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._waiting: dict[str, deque[Job]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, lane: str, job: Job) -> None:
        """Put a job at the end of a lane; a lane without work costs nothing."""
        waiting = self._waiting.get(lane)
        if waiting is not None:
            waiting.append(job)
            return
        self._waiting[lane] = deque([job])
        task = asyncio.create_task(self._run(lane))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self, seconds: float) -> None:
        """Wait until all is done; what is not done in time is cancelled."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _run(self, lane: str) -> None:
        waiting = self._waiting[lane]
        while waiting:
            job = waiting.popleft()
            async with self._slots:
                await job()
        del self._waiting[lane]


async def wait_or_cancel(work: asyncio.Task[None]) -> None:
    """Wait for a task, ended or cancelled on its own; when the waiter is cancelled, so is it."""
    try:
        await asyncio.wait([work])
    except asyncio.CancelledError:
        work.cancel()
        await asyncio.wait([work])
        raise

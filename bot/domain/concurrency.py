"""Asyncio building blocks: background tasks, and a cache with a time to live.

Background tasks are short follow-ups run after the platform's request is acknowledged; they may be
lost with the process, so nothing may depend on them. Concurrent callers of the cache with the same
key share one call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

import structlog

from bot.domain.errors import BotError
from rag.types import BoundedDict

_STOP_SECONDS = 2.0

log = structlog.get_logger(__name__)


class BackgroundTasks:
    """Run short background tasks concurrently and log their failures."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, object], *, what: str) -> asyncio.Task[None]:
        """Start a background task, which never raises; ``what`` names it and its failure."""
        task = asyncio.create_task(_run_logged(work, what), name=f"background: {what}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self) -> None:
        """Wait for running tasks, at most two seconds, then cancel the rest."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_STOP_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


async def _run_logged(work: Coroutine[Any, Any, object], what: str) -> None:
    try:
        await work
    except Exception as error:
        known = isinstance(error, BotError)
        log.exception(
            "errand_failed",
            what=what,
            error=type(error).__name__,
            why=str(error) if known else "",
            exc_info=not known,
        )


_T = TypeVar("_T")


class TtlCache(Generic[_T]):
    """Cache of values fetched by key; concurrent callers of a key share one fetch.

    Errors are raised to all waiting callers and not cached.
    """

    def __init__(
        self,
        fetch: Callable[[str], Awaitable[_T]],
        *,
        seconds: float,
        most: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._seconds = seconds
        self._clock = clock
        self._entries = BoundedDict[str, tuple[float, _T]](most)
        self._fetching: dict[str, asyncio.Task[_T]] = {}

    async def get(self, key: str) -> _T:
        """Return the value of a key; cancelling one caller does not cancel the shared fetch."""
        entry = self._entries.get(key)
        if entry is not None and self._clock() - entry[0] < self._seconds:
            return entry[1]
        fetching = self._fetching.get(key)
        if fetching is None:
            fetching = self._fetching[key] = asyncio.create_task(self._fetched(key))
            fetching.add_done_callback(_retrieve_error)
        return await asyncio.shield(fetching)

    def put(self, key: str, value: _T) -> None:
        """Store a value without fetching it; evict the oldest beyond ``most`` entries."""
        self._entries[key] = (self._clock(), value)

    def forget(self) -> None:
        """Clear the cache; results of running fetches reach their callers and are not cached."""
        self._entries.clear()
        self._fetching.clear()

    async def _fetched(self, key: str) -> _T:
        fetching = asyncio.current_task()
        try:
            value = await self._fetch(key)
            if self._fetching.get(key) is fetching:
                self.put(key, value)
            return value
        finally:
            if self._fetching.get(key) is fetching:
                del self._fetching[key]


def _retrieve_error(done: asyncio.Task[_T]) -> None:
    """Retrieve a task's exception, so that asyncio does not log it if no caller waits any more."""
    if not done.cancelled():
        done.exception()

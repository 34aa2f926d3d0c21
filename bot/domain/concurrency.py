"""Asyncio building blocks: background tasks, and a cache with a time to live.

Background tasks are small things done after a platform has its acknowledgement; they may be lost
with the process, so nothing may depend on them. The cache lets concurrent callers of one key
share one call.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

import structlog

from bot.domain.errors import BotError

_STOP_SECONDS = 2.0

log = structlog.get_logger(__name__)


class BackgroundTasks:
    """Runs errands side by side; what goes wrong is logged."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, errand: Coroutine[Any, Any, object], *, what: str) -> None:
        """Begin an errand; ``what`` names it in the log."""
        task = asyncio.create_task(_run_logged(errand, what))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Wait for what is under way, two seconds at most; what is late has ended then, too."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_STOP_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


async def _run_logged(errand: Coroutine[Any, Any, object], what: str) -> None:
    try:
        await errand
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
    """Asks for the answer to a key and keeps it; at most one question a key is under way.

    Errors are passed to all who wait, and are not kept.
    """

    def __init__(
        self,
        ask: Callable[[str], Awaitable[_T]],
        *,
        seconds: float,
        most: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, _T]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[_T]] = {}

    async def get(self, key: str) -> _T:
        """Return the answer to a key; one who stops waiting leaves the others waiting."""
        kept = self._kept.get(key)
        if kept is not None and self._clock() - kept[0] < self._seconds:
            return kept[1]
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = asyncio.create_task(self._asked(key))
            asking.add_done_callback(_retrieve_error)
        return await asyncio.shield(asking)

    def put(self, key: str, answer: _T) -> None:
        """Keep an answer that came unasked."""
        self._kept[key] = (self._clock(), answer)
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def forget(self) -> None:
        """Ask again from now on; what is being asked is told to those who wait, and not kept."""
        self._kept.clear()
        self._asking.clear()

    async def _asked(self, key: str) -> _T:
        asking = asyncio.current_task()
        try:
            answer = await self._ask(key)
            if self._asking.get(key) is asking:
                self.put(key, answer)
            return answer
        finally:
            if self._asking.get(key) is asking:
                del self._asking[key]


def _retrieve_error(done: asyncio.Task[_T]) -> None:
    """Look at an error, which nobody may wait for any more."""
    if not done.cancelled():
        done.exception()

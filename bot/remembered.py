"""Answers that are kept for a while, so that who is asked often is asked once."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Remembered(Generic[_T]):
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
            asking.add_done_callback(_seen)
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


def _seen(done: asyncio.Task[_T]) -> None:
    """Look at an error, which nobody may wait for any more."""
    if not done.cancelled():
        done.exception()

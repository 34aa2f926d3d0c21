"""Turns at a file that one may use at a time: in order, the urgent first."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_MOST_URGENT_IN_A_ROW = 4
"""Then one of the others goes, so that work is done while messages pour in."""


class Turns:
    """A lock with two lines.

    One operation on SQLite is dozens of rounds of the event loop. Operations side by side share
    the rounds and one interpreter, so all of them get slower and none gets done earlier; and who
    holds the write lock holds up everyone. One after the other, each takes its few milliseconds.
    """

    def __init__(self) -> None:
        self._taken = False
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()
        self._in_a_row = 0

    @asynccontextmanager
    async def turn(self, *, urgent: bool = False) -> AsyncIterator[None]:
        """Wait for the turn, and hold it in the block; it can't be taken twice by one task."""
        await self._wait(urgent=urgent)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, *, urgent: bool) -> None:
        if not self._taken:
            self._taken = True
            return
        given = asyncio.get_running_loop().create_future()
        (self._urgent if urgent else self._others).append(given)
        try:
            await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._urgent or self._others:
            given = self._next()
            if not given.done():
                given.set_result(None)
                return
        self._taken = False

    def _next(self) -> asyncio.Future[None]:
        patient = self._in_a_row < _MOST_URGENT_IN_A_ROW or not self._others
        if self._urgent and patient:
            self._in_a_row += 1
            return self._urgent.popleft()
        self._in_a_row = 0
        return self._others.popleft() if self._others else self._urgent.popleft()

"""Let what arrives go before work in the background, on one event loop.

Work in the background is many short steps of many tasks. Where nothing holds them back, an arriving
request waits at each of its own steps for one of every task that is ready.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_IN_BACKGROUND: ContextVar[bool] = ContextVar("in_background", default=False)

_SHARE = 0.2
"""Of the loop's time, for work in the background while requests arrive."""

_TURN_SECONDS = 0.004
"""So long work in the background may take before the loop looks for requests again."""

_LONGEST_SECONDS = 0.1
"""However many requests arrive, a step in the background is made after so long."""

_SOON_SECONDS = 0.004
"""A connection that was opened, or sent something, makes a request within so long."""


@contextmanager
def background() -> Iterator[None]:
    """Mark what runs in the block, and the tasks that it starts, as work in the background."""
    token = _IN_BACKGROUND.set(True)
    try:
        yield
    finally:
        _IN_BACKGROUND.reset(token)


@contextmanager
def foreground() -> Iterator[None]:
    """Hold nothing back in the block, as others wait for what it holds: a lock, a transaction."""
    if not _IN_BACKGROUND.get():
        yield
        return
    token = _IN_BACKGROUND.set(False)
    try:
        yield
    finally:
        _IN_BACKGROUND.reset(token)


class Precedence:
    """Holds the steps of background tasks back while requests arrive, for a share of the time.

    Takes effect on an event loop whose task factory is ``new_task``.
    """

    def __init__(self) -> None:
        self._arriving = 0
        self._free_at = 0.0
        self._at_last = 0.0
        self._spent = 0.0
        self._held: deque[asyncio.Future[None]] = deque()
        self._looking: asyncio.Handle | None = None

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """Handle a request in the block; what it starts is not in the background."""
        self._arriving += 1
        try:
            with foreground():
                yield
        finally:
            self._arriving -= 1

    def expect(self) -> None:
        """Hold background tasks back for a moment, as a request is about to be made."""
        self._free_at = max(self._free_at, time.monotonic() + _SOON_SECONDS)

    def new_task(
        self,
        loop: asyncio.AbstractEventLoop,
        work: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """Return a new task: the event loop's task factory."""
        within = _IN_BACKGROUND.get() if context is None else context.get(_IN_BACKGROUND, False)
        if within and asyncio.iscoroutine(work):
            work = self._in_steps(work)
        return asyncio.Task(work, loop=loop, context=context)

    @coroutine
    def _in_steps(self, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Run a coroutine, each of its steps when it may."""
        thrown: BaseException | None = None
        while True:
            if _IN_BACKGROUND.get() and not self._is_free():
                try:
                    yield from self._hold()
                except GeneratorExit:
                    work.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - given to whom it is for
                    thrown = error
            began = time.monotonic()
            try:
                awaited = work.send(None) if thrown is None else work.throw(thrown)
            except StopIteration as ended:
                result: T = ended.value
                return result
            finally:
                self._took(time.monotonic() - began)
            thrown = None
            try:
                yield awaited
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # noqa: BLE001 - as above
                thrown = error

    def _is_free(self) -> bool:
        return self._spent < _TURN_SECONDS and self._may_go()

    def _may_go(self) -> bool:
        return time.monotonic() >= self._next_at()

    def _next_at(self) -> float:
        return min(self._free_at, self._at_last)

    def _hold(self) -> Generator[Any, None, None]:
        held = asyncio.get_running_loop().create_future()
        self._held.append(held)
        self._look_again()
        return held.__await__()

    def _took(self, seconds: float) -> None:
        self._spent += seconds
        if self._arriving:
            rest = seconds * (1 / _SHARE - 1)
            self._free_at = max(self._free_at, time.monotonic() + rest)
        self._at_last = time.monotonic() + _LONGEST_SECONDS
        self._look_again()

    def _look_again(self) -> None:
        if self._looking is None:
            loop = asyncio.get_running_loop()
            wait = self._next_at() - time.monotonic() if self._held else 0.0
            self._looking = (
                loop.call_later(wait, self._look) if wait > 0 else loop.call_soon(self._look)
            )

    def _look(self) -> None:
        """Begin a new turn, after the loop has looked for requests, and let one task go on."""
        self._looking = None
        self._spent = 0.0
        while self._held and self._held[0].done():
            self._held.popleft()
        if not self._held:
            return
        if self._may_go():
            self._held.popleft().set_result(None)
        if self._held:
            self._look_again()

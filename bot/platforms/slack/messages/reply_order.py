"""Post replies in a channel in the order in which their questions were asked."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from bot.domain.messages import Message
from bot.platforms.slack.payloads.metadata import ts_of

PATIENCE_SECONDS = 2.0
"""How long a finished reply waits for replies to earlier questions that are in progress."""

_REMEMBERED = 1_000

WaitForChannel = Callable[[str], Awaitable[None]]
"""Waits until a channel's rate limit admits a message."""

QuestionOrder = tuple[tuple[int, ...], str]


@dataclass(slots=True)
class _Queue:
    """The questions of one channel: in progress, and those whose reply is ready."""

    working: set[QuestionOrder] = field(default_factory=set)
    waiting: set[QuestionOrder] = field(default_factory=set)
    first: QuestionOrder | None = None
    held: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def follows_unfinished(self, order: QuestionOrder) -> bool:
        """Return whether an earlier question is still in progress."""
        return any(earlier < order for earlier in self.working)

    def is_next(self, order: QuestionOrder) -> bool:
        return not self.held and order == self.first

    def wake(self) -> None:
        """Update the first waiting question, and let all waiters check again."""
        self.first = min(self.waiting, default=None)
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        while not condition():
            await self._changed.wait()


class ReplyOrder:
    """Orders replies within this process. Implements bot.domain.capabilities.TakesTurns.

    An earlier question that is not ready after ``patience_seconds`` is not waited for again, so
    that one that never ends delays others only once.
    """

    def __init__(
        self, until_allowed: WaitForChannel, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._until_allowed = until_allowed
        self._patience = patience_seconds
        self._queues: OrderedDict[str, _Queue] = OrderedDict()

    def begun(self, message: Message) -> None:
        """Record that a question is in progress."""
        queue, order = self._queue(message), _order(message)
        if order not in queue.waiting:
            queue.working.add(order)

    def ended(self, message: Message) -> None:
        """Record that a question gets no reply."""
        queue = self._queue(message)
        queue.working.discard(_order(message))
        queue.wake()

    @asynccontextmanager
    async def turn(self, message: Message) -> AsyncIterator[None]:
        """Hold the channel's turn, once it admits a message and no earlier reply is ready."""
        queue, order = self._queue(message), _order(message)
        queue.working.discard(order)
        queue.waiting.add(order)
        queue.wake()
        try:
            await self._earlier(queue, order)
            await self._next(queue, order, message.thread.channel)
        finally:
            queue.waiting.discard(order)
            queue.wake()
        try:
            yield
        finally:
            queue.held = False
            queue.wake()

    async def _earlier(self, queue: _Queue, order: QuestionOrder) -> None:
        """Wait for earlier questions, for the patience at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await queue.until(lambda: not queue.follows_unfinished(order))
        queue.working -= {earlier for earlier in queue.working if earlier < order}

    async def _next(self, queue: _Queue, order: QuestionOrder, channel: str) -> None:
        """Take the turn; while the channel is rate-limited, an earlier reply may become ready."""
        while True:
            await queue.until(lambda: queue.is_next(order))
            await self._until_allowed(channel)
            if queue.is_next(order):
                queue.held = True
                return

    def _queue(self, message: Message) -> _Queue:
        channel = message.thread.channel
        queue = self._queues.setdefault(channel, _Queue())
        self._queues.move_to_end(channel)
        if len(self._queues) > _REMEMBERED:
            self._forget()
        return queue

    def _forget(self) -> None:
        """Drop the least recently used channel in which no reply waits."""
        for channel, queue in self._queues.items():
            if not queue.waiting and not queue.held:
                del self._queues[channel]
                return


def _order(message: Message) -> QuestionOrder:
    return tuple(int(part) for part in ts_of(message).split(".")), message.id

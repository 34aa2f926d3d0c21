"""A platform on which things happen as a test tells them, one at each post."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from bot.domain.interactions import Delivery, PostedRef, Unfinished
from bot.domain.messages import InteractionId, Message
from tests.bot.fakes import Board, Run

Happening = Exception | Callable[[], Awaitable[object]] | None


class EventfulBoard(Board):
    """Takes what happens at each post in turn; then nothing more happens.

    An error is raised instead of posting, a function is awaited before it.
    """

    def __init__(self, *happens: Happening, lost: int = 0) -> None:
        super().__init__(lost=lost)
        self._happens = list(happens)
        self.tried = 0
        self.found = 0

    async def deliver(self, delivery: Delivery) -> PostedRef:
        self.tried += 1
        happening = self._happens.pop(0) if self._happens else None
        if isinstance(happening, Exception):
            raise happening
        if happening is not None:
            await happening()
        return await super().deliver(delivery)

    async def find(self, delivery: Delivery) -> PostedRef | None:
        self.found += 1
        return await super().find(delivery)


class IdleEngine:
    """Notes what is begun and runs nothing: the test does, and sees every pause."""

    def __init__(self, executor: str = "idle") -> None:
        self.executor = executor
        self.begun: list[str] = []

    async def start(self, run: Run) -> None: ...

    async def begin(self, work_id: str, interaction_id: InteractionId) -> None:
        self.begun.append(work_id)

    async def again(self, unfinished: Unfinished) -> None:
        self.begun.append(f"{unfinished.id}:{unfinished.epoch}")

    async def take_over(self, executors: object) -> None: ...

    async def forget(self) -> None: ...

    async def stop(self) -> None: ...


class QueueingBoard(EventfulBoard):
    """Takes one reply at a time, those of one place in the order in which they came to it."""

    def __init__(self, *happens: Happening, lost: int = 0) -> None:
        super().__init__(*happens, lost=lost)
        self.place = asyncio.Lock()
        self.queue: list[str] = []
        self.turns = 0
        self._moved = asyncio.Condition()

    @asynccontextmanager
    async def turn(self, message: Message) -> AsyncIterator[None]:
        await self._move(self.queue.append, message.text)
        try:
            async with self.place:
                self.turns += 1
                yield
        finally:
            await self._move(self.queue.remove, message.text)

    async def lines_up(self, *texts: str) -> None:
        """Wait until those and no others have a turn or wait for it."""
        async with asyncio.timeout(5), self._moved:
            await self._moved.wait_for(lambda: self.queue == list(texts))

    async def _move(self, change: Callable[[str], None], text: str) -> None:
        change(text)
        async with self._moved:
            self._moved.notify_all()

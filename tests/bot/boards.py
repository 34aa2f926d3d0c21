"""A platform on which things happen as a test tells them, one at each post."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bot.types import Delivery, InteractionId, PostedRef, Unfinished
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

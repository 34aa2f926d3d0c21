"""One thread's messages in order: a message waits for those that came before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.domain.types import Interaction

_FIRST_LOOK_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0
_PATIENCE_SECONDS = 900.0
"""After that an earlier message is stuck, and the later one is answered all the same."""


@dataclass(slots=True)
class _Line:
    """Who waits in one thread, in this process, by the number of arrival."""

    numbers: list[int] = field(default_factory=list)
    moved: asyncio.Condition = field(default_factory=asyncio.Condition)


class ThreadOrder:
    """Gives turns. In this process by a line a thread; other processes are seen in the record.

    Args:
        behind: Whether an earlier message of the same thread is still to be answered, anywhere.
    """

    def __init__(self, behind: Callable[[Interaction], Awaitable[bool]]) -> None:
        self._behind = behind
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def turn(self, interaction: Interaction) -> AsyncIterator[None]:
        """Wait until a message is the first of its thread, and hold the turn in the block."""
        key, number = interaction.message.thread.key, interaction.number
        line = self._lines.setdefault(key, _Line())
        line.numbers.append(number)
        try:
            async with line.moved:
                await line.moved.wait_for(lambda: number == min(line.numbers))
            await self._first_anywhere(interaction)
            yield
        finally:
            await self._leave(key, line, number)

    async def _leave(self, key: str, line: _Line, number: int) -> None:
        line.numbers.remove(number)
        if not line.numbers:
            self._lines.pop(key, None)
        async with line.moved:
            line.moved.notify_all()

    async def _first_anywhere(self, interaction: Interaction) -> None:
        pause, waited = _FIRST_LOOK_SECONDS, 0.0
        while waited < _PATIENCE_SECONDS and await self._behind(interaction):
            await asyncio.sleep(pause)
            waited += pause
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

"""The messages that are being recorded right now: bounded, and let pass by all other work."""

from __future__ import annotations

import asyncio
import time

from bot.domain.errors import InboxFull
from bot.domain.messages import InteractionId

_LONGEST_SECONDS = 0.1
"""While messages arrive all the time, other work goes on so often."""


class Arrivals:
    """The tasks that record messages.

    Args:
        most: How many may be under way; the sender of another one is asked to send it again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._tasks: set[asyncio.Task[InteractionId]] = set()
        self._passed_at = 0.0

    def check(self) -> None:
        """Raise InboxFull if no more messages can be recorded in time."""
        if len(self._tasks) >= self._most:
            raise InboxFull(f"{self._most} messages are being recorded. Send it again in a minute.")

    def add(self, task: asyncio.Task[InteractionId]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def let_pass(self) -> None:
        """Wait until no message is being recorded, for a moment at most."""
        end = self._passed_at + _LONGEST_SECONDS
        while self._tasks and (left := end - time.monotonic()) > 0:
            await asyncio.wait(set(self._tasks), timeout=left)
        self._passed_at = time.monotonic()

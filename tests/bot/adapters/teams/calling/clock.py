"""Time that passes when somebody waits."""

from __future__ import annotations

import asyncio


class Passing:
    """A clock, and the pause that lets it go on."""

    def __init__(self) -> None:
        self.seconds = 1_000.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.seconds

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)

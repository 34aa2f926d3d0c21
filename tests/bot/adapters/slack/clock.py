"""A clock for tests: pauses take no time, and the clock goes on by them."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.platforms.slack.client.api import ApiCaller


@dataclass
class Clock:
    """Time that passes by waiting only; ``waits`` are the pauses that were made."""

    now: float = 1_000.0
    waits: list[float] = field(default_factory=list)

    def read(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def caller(self) -> ApiCaller:
        """Return a caller that lives by this clock."""
        return ApiCaller(self.pause, self.read)


def unhurried() -> ApiCaller:
    """Return a caller that keeps its pace and takes no time for it."""
    return Clock().caller()

"""Time, which a test may let pass at once."""

from __future__ import annotations

import time


class Clock:
    """Seconds that run by themselves; ``advance`` makes more of them pass."""

    def __init__(self) -> None:
        self._more = 0.0

    def now(self) -> float:
        return time.monotonic() + self._more

    def advance(self, seconds: float) -> None:
        self._more += seconds

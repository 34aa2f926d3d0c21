"""Holds back who tries out admin tokens."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

MOST = 10
WITHIN_SECONDS = 60.0
HELD_SECONDS = 60.0


class WrongTokens:
    """Counts wrong tokens from anywhere; after ten within a minute more of them get 429 for one.

    Counted by this process alone. A session and a right token are never held back: otherwise any
    stranger could lock out everybody. That helps nobody to guess: a token has 16 characters or
    more, and is compared in constant time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at: deque[float] = deque(maxlen=MOST)
        self._held_until = float("-inf")

    def add(self) -> None:
        """Count one."""
        now = self._clock()
        self._at.append(now)
        if len(self._at) == MOST and now - self._at[0] < WITHIN_SECONDS:
            self._held_until = now + HELD_SECONDS
            self._at.clear()

    @property
    def held_seconds(self) -> int:
        """How long wrong ones get 429, in seconds; 0: they get 401."""
        return math.ceil(max(0.0, self._held_until - self._clock()))

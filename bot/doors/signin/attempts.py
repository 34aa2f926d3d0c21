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
    """Counts wrong tokens from anywhere; after ten within a minute no more are looked at for one.

    Counted by this process alone. A session and a right token of the API are never held back:
    otherwise any stranger could lock out everybody.
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
        """How long no more are looked at; 0: they are."""
        return math.ceil(max(0.0, self._held_until - self._clock()))

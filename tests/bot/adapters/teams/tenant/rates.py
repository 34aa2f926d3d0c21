"""How often Teams takes a call: per bot and thread."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

SENDS = ((7, 1.0), (8, 2.0), (60, 30.0), (1_800, 3_600.0))
"""Calls, and the seconds in which there may be so many."""

LOOKUPS = ((14, 1.0), (16, 2.0), (120, 30.0), (3_600, 3_600.0))


@dataclass
class Rates:
    """Counts what was taken, by thread."""

    now: Callable[[], float]
    _taken: defaultdict[tuple[str, str], deque[float]] = field(
        default_factory=lambda: defaultdict(deque)
    )

    def wait(self, call: str, conversation: str) -> int:
        """Return 0 and count the call, or the whole seconds after which it may be tried."""
        windows = LOOKUPS if call in {"member", "members"} else SENDS
        kind = "lookup" if windows is LOOKUPS else "send"
        taken, now = self._taken[kind, conversation], self.now()
        for most, seconds in windows:
            recent = [at for at in taken if at > now - seconds]
            if len(recent) >= most:
                return max(1, math.ceil(recent[-most] + seconds - now))
        taken.append(now)
        while taken and taken[0] <= now - windows[-1][1]:
            taken.popleft()
        return 0

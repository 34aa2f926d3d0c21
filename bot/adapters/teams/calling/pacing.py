"""How often something may be shown: Teams takes about one change a second per conversation."""

from __future__ import annotations

import time
from collections import OrderedDict

_REMEMBERED = 1_000


class Pacing:
    """Remembers, by message, before when nothing more should be shown."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, float] = OrderedDict()

    def is_due(self, key: str) -> bool:
        """Tell whether something may be shown now."""
        return time.monotonic() >= self._held.get(key, 0.0)

    def hold(self, key: str, seconds: float) -> None:
        """Show nothing more for a while."""
        self._held[key] = time.monotonic() + seconds
        self._held.move_to_end(key)
        while len(self._held) > _REMEMBERED:
            self._held.popitem(last=False)

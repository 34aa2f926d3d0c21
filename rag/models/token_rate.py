"""Keeps what is sent within so many tokens a minute."""

from __future__ import annotations

import asyncio

_MINUTE = 60.0


class TokenRate:
    """Lets requests pass one after another, each when what went before is worked off.

    ``tokens_per_minute`` 0 lets all pass at once. Used in one event loop.
    """

    def __init__(self, tokens_per_minute: int) -> None:
        self._a_second = tokens_per_minute / _MINUTE
        self._free_at = 0.0

    async def take(self, tokens: int) -> None:
        """Wait until a request of so many tokens may be sent."""
        if not self._a_second:
            return
        now = asyncio.get_running_loop().time()
        start = max(now, self._free_at)
        self._free_at = start + tokens / self._a_second
        await asyncio.sleep(start - now)

    def give_back(self, tokens: int) -> None:
        """Correct an estimate by what the server counted."""
        if self._a_second:
            self._free_at -= tokens / self._a_second

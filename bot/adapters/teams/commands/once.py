"""Orders are carried out once, however often Teams delivers them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from bot.domain.errors import StoreUnavailable
from bot.domain.ports import Notes

KEPT_SECONDS = 24 * 3600.0
"""What Teams delivers again, it delivers within seconds."""

_KEY = "teams:ordered:"


class Once:
    """Remembers for a day what was ordered, for all processes. Raises StoreUnavailable."""

    def __init__(
        self, notes: Notes, tenant: str, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._notes = notes
        self._tenant = tenant
        self._clock = clock

    async def first(self, order: str) -> bool:
        """Tell whether an order, by the key of its message, has not been here before."""
        if not await self._notes.first(self._tenant, f"{_KEY}{order}", f"{self._clock():.0f}"):
            return False
        with suppress(StoreUnavailable):
            await self._forget_old()
        return True

    async def was_here(self, order: str) -> bool:
        """Tell whether something was taken as an order."""
        return await self._notes.get(self._tenant, f"{_KEY}{order}") is not None

    async def _forget_old(self) -> None:
        since = self._clock() - KEPT_SECONDS
        for key, at in (await self._notes.beginning(self._tenant, _KEY)).items():
            if float(at) < since:
                await self._notes.remove(self._tenant, key)

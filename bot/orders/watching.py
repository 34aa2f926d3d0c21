"""Follows a run to its end, from any process and over kills; tells how far it is now and then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

from bot.errors import StoreUnavailable
from bot.observing.trouble import Trouble
from bot.orders.ports import FollowsRuns
from bot.orders.resumed import going_on
from bot.orders.telling import interrupted_for_good, lost, told_of
from bot.orders.told import RunTold

LOOK_SECONDS = 0.5
TELL_SECONDS = 2.5
"""A change of figures is told so often at most; a change of state at once."""

PATIENCE_SECONDS = 600.0
"""So long a run that was interrupted is waited for, or a ledger that can't be read."""


class Watch:
    """Follows runs by their rows, which are those of all processes.

    Args:
        runs: Where runs are told.
        pause: Sleeps for so many seconds.
        clock: Seconds that only go on.
    """

    def __init__(
        self,
        runs: FollowsRuns,
        *,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runs = runs
        self._pause = pause
        self._clock = clock

    async def follow(self, run_id: str) -> AsyncIterator[RunTold]:
        """Yield how far a run is, at once, then on changes; the last one has ``ended``.

        Never raises: what can't be followed any longer ends with a ``note`` that says so.
        """
        last, told_at, well_at = None, self._clock(), self._clock()
        trouble = Trouble("orders.following")
        while True:
            told, now = await self._look(run_id, trouble), self._clock()
            if told is not None and told.state != "interrupted":
                well_at = now
            if now - well_at >= PATIENCE_SECONDS:
                told = lost(run_id) if told is None else interrupted_for_good(told)
            if told is not None and _worth(told, last, now - told_at):
                yield told
                last, told_at = told, now
                if told.ended:
                    return
            await self._pause(LOOK_SECONDS)

    async def _look(self, run_id: str, trouble: Trouble) -> RunTold | None:
        """Return how far a run is; None while that can't be read."""
        try:
            first = await self._runs.get(run_id)
            now = () if first is None else await going_on(first, self._runs)
        except StoreUnavailable as error:
            trouble.note(error)
            return None
        trouble.note(None)
        told = told_of(run_id, now)
        if first is None or not now or now == (first,):
            return told
        return replace(told, space=first.space, extent=first.extent, page=first.page, resumed=True)


def _worth(told: RunTold, last: RunTold | None, silent_seconds: float) -> bool:
    if last is None or told.ended or told.state != last.state or told.resumed != last.resumed:
        return True
    return told != last and silent_seconds >= TELL_SECONDS

"""Small things done after a platform has its answer; they may be lost, nothing rests on them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

from bot.errors import BotError

_STOP_SECONDS = 2.0

log = structlog.get_logger(__name__)


class Errands:
    """Runs errands side by side; what goes wrong is logged."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, errand: Coroutine[Any, Any, object], *, what: str) -> None:
        """Begin an errand; ``what`` names it in the log."""
        task = asyncio.create_task(_done(errand, what))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Wait for what is under way, two seconds at most; what is late has ended then, too."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_STOP_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


async def _done(errand: Coroutine[Any, Any, object], what: str) -> None:
    try:
        await errand
    except Exception as error:
        known = isinstance(error, BotError)
        log.exception(
            "errand_failed",
            what=what,
            error=type(error).__name__,
            why=str(error) if known else "",
            exc_info=not known,
        )

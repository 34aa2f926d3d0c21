"""Brings the news of escalations to who is to hear them, whichever process wrote them down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

import structlog

from bot.escalations.ports import Outbox
from bot.escalations.types import Notice
from bot.observing.trouble import Trouble

_AT_ONCE = 10
_FRESH_SECONDS = 10.0
"""A claim lasts a minute, and to tell one takes 40 s at most."""

_STOP_SECONDS = 5.0

log = structlog.get_logger(__name__)


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class Tell(Protocol):
    """Tells one notice."""

    async def tell(self, notice: Notice) -> None:
        """Make an attempt and note it. Raises StoreUnavailable."""
        ...


class News:
    """A loop over the outbox: reminds of what waits too long, and tells what is due.

    The outbox gives out the notices of one case one after the other; cases do not wait for each
    other.

    Args:
        owner: Names this process to the outbox.
        is_open: Whether the record can be worked on.
        every_seconds: How long a round waits for the next, unless there is a hint.
    """

    def __init__(
        self,
        *,
        owner: str,
        outbox: Outbox,
        teller: Tell,
        is_open: Callable[[], bool],
        now: Callable[[], datetime] = utc_now,
        every_seconds: float = 2.0,
    ) -> None:
        self._owner = owner
        self._outbox = outbox
        self._teller = teller
        self._is_open = is_open
        self._now = now
        self._every_seconds = every_seconds
        self._hinted = asyncio.Event()
        self._stopping = False
        self._trouble = Trouble("news")
        self._task: asyncio.Task[None] | None = None

    def hint(self) -> None:
        """Say that there may be something to tell; costs nothing."""
        self._hinted.set()

    def start(self) -> None:
        """Begin; what is due from before is told first."""
        self._task = asyncio.create_task(self._go_round())

    async def stop(self) -> None:
        """Begin nothing more, and finish what is being told, for five seconds at most; once."""
        self._stopping = True
        self._hinted.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=_STOP_SECONDS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def round(self) -> int:
        """Tell what is due now, once; return how many notices there were.

        Raises StoreUnavailable.
        """
        now = self._now()
        await self._outbox.remind(now)
        due = await self._outbox.due(self._owner, now, _AT_ONCE)
        claimed_at = time.monotonic()
        told = (self._tell(each, claimed_at) for each in due)
        for failed in await asyncio.gather(*told, return_exceptions=True):
            if isinstance(failed, BaseException):
                raise failed
        return len(due)

    async def _go_round(self) -> None:
        while not self._stopping:
            self._hinted.clear()
            if not await self._more():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._hinted.wait(), self._every_seconds)

    async def _more(self) -> bool:
        """Make a round; tell whether there may be more: what was told lets the next one out."""
        if not self._is_open():
            return False
        try:
            found = await self.round()
        except Exception as error:  # noqa: BLE001 - noted; the next round tries again
            self._trouble.note(error)
            return False
        self._trouble.note(None)
        return found > 0

    async def _tell(self, notice: Notice, claimed_at: float) -> None:
        """Tell one; what is not reached comes again when its claim has run out."""
        stale = time.monotonic() - claimed_at > _FRESH_SECONDS
        if not (self._stopping or stale):
            await self._teller.tell(notice)

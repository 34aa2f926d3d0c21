"""Log refusals by a limit, and decide whether the asker is told, once a minute for each.

A flood gets neither a log line nor a reply for every message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

import structlog

from bot.domain.messages import Message, Platform
from bot.domain.ports import Notes

log = structlog.get_logger(__name__)

QUIET_SECONDS = 60.0


@dataclass(slots=True)
class LoggedRefusal:
    """When a line was written, and how many were left out since."""

    at: float
    more: int = 0


class RefusalLog:
    """Warns once a minute for each limit and key; what is left out is counted on the next line.

    It is about this process's log alone; nothing is decided by it.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[tuple[str, str], LoggedRefusal] = {}
        self._unpriced_on: dict[str, date] = {}

    @property
    def remembered(self) -> int:
        """How many limits and keys are kept in memory."""
        return len(self._told)

    def refused(self, limit: str, key: str, figures: Mapping[str, object]) -> None:
        """Write that a message was refused by a limit; ``key`` is whom or what it applies to."""
        self._settle_old(limit, key)
        told = self._told.get((limit, key))
        if told is not None and self._clock() - told.at < QUIET_SECONDS:
            told.more += 1
            return
        more = 0 if told is None else told.more
        self._told.pop((limit, key), None)
        self._told[limit, key] = LoggedRefusal(self._clock())
        log.warning("limit.refused", limit=limit, **figures, not_logged_before=more)

    def unpriced(self, tenant: str, day: date, calls: int) -> None:
        """Write once a day that a limit on money can't see all calls."""
        if self._unpriced_on.get(tenant) == day:
            return
        self._unpriced_on[tenant] = day
        log.warning(
            "limit.prices_unknown",
            tenant=tenant,
            calls=calls,
            cure="MODEL_USD_PER_DAY does not count calls of unknown price. Set "
            "MODEL_TOKENS_PER_DAY too.",
        )

    def _settle_old(self, limit: str, key: str) -> None:
        """Forget what is older than a minute, the oldest first, and say what it left out."""
        while self._told:
            first, told = next(iter(self._told.items()))
            if first == (limit, key) or self._clock() - told.at < QUIET_SECONDS:
                return
            del self._told[first]
            if told.more:
                log.warning("limit.refused_more", limit=first[0], key=first[1], times=told.more)


class AskerNotices:
    """Tells whether an asker is told of a limit: once a minute in a conversation, by all processes.

    Args:
        notes: Remembers who was told when.
        platforms: Where replies are posted. Elsewhere each message fetches its own, and is told.
    """

    def __init__(self, notes: Notes, platforms: frozenset[Platform]) -> None:
        self._notes = notes
        self._platforms = platforms

    async def due(self, message: Message, limit: str) -> bool:
        """Tell whether to say it with this message; the same when asked again.

        Raises StoreUnavailable.
        """
        thread, at = message.thread, message.received_at.timestamp()
        if thread.platform not in self._platforms:
            return True
        key = f"{thread.platform}:limit:{thread.channel}:{message.author.id}:{limit}"
        minute = int(at // QUIET_SECONDS)
        last = await self._notes.get(thread.tenant, f"{key}:{minute - 1}")
        if last is not None and at - float(last.partition(" ")[0]) < QUIET_SECONDS:
            return False
        # A note for each minute: of all processes one keeps it first.
        about, now = message.interaction_id, f"{key}:{minute}"
        mine = f"{at} {about}"
        if await self._notes.first(thread.tenant, now, mine, interaction_id=about):
            return True
        return await self._notes.get(thread.tenant, now) == mine

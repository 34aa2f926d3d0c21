"""Report limits: log refusals, decide whether to notify the asker, and tell the status.

Refusals are logged and told at most once a minute, so a flood causes neither a log line nor a reply
for every message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

import structlog

from bot.domain.errors import StoreUnavailable
from bot.domain.health import ComponentStatus
from bot.domain.markdown import clip
from bot.domain.messages import Message, Platform
from bot.domain.ports import Notes
from bot.domain.settings import Settings
from bot.domain.texts import join_texts, number_text, tr, trn
from bot.domain.usage import (
    CurrentPause,
    Pause,
    Spent,
    UsageCounts,
    UsageLimits,
    day_of,
    usage_limits,
)
from bot.domain.users import short_actor_name

log = structlog.get_logger(__name__)

QUIET_SECONDS = 60.0


@dataclass(slots=True)
class LoggedRefusal:
    """The time of a log line (clock seconds), and the number of refusals not logged since."""

    at: float
    more: int = 0


class RefusalLog:
    """Log refusals once a minute per limit and key, with a count of those not logged before.

    Each process counts for its own log; the log has no effect on admission.

    Args:
        clock: A monotonic clock in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[tuple[str, str], LoggedRefusal] = {}
        self._unpriced_on: dict[str, date] = {}

    @property
    def remembered(self) -> int:
        """Return the number of pairs of limit and key kept in memory."""
        return len(self._told)

    def refused(self, limit: str, key: str, figures: Mapping[str, object]) -> None:
        """Log that a limit refused a message; ``key`` is the person or channel it applies to."""
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
        """Log once a day that MODEL_USD_PER_DAY can't count calls of unknown price."""
        if self._unpriced_on.get(tenant) == day:
            return
        self._unpriced_on[tenant] = day
        log.warning(
            "limit.prices_unknown",
            tenant=tenant,
            calls=calls,
            cure="MODEL_USD_PER_DAY does not count calls of unknown price. Set "
            "OPENAI_INPUT_USD_PER_MILLION and OPENAI_OUTPUT_USD_PER_MILLION, or "
            "MODEL_TOKENS_PER_DAY too.",
        )

    def _settle_old(self, limit: str, key: str) -> None:
        """Drop entries older than a minute, oldest first, and log how many refusals each hid."""
        while self._told:
            first, told = next(iter(self._told.items()))
            if first == (limit, key) or self._clock() - told.at < QUIET_SECONDS:
                return
            del self._told[first]
            if told.more:
                log.warning("limit.refused_more", limit=first[0], key=first[1], times=told.more)


class AskerNotices:
    """Decide whether to notify an asker of a limit: once a minute per channel, over all processes.

    Args:
        notes: Stores the times of notices.
        platforms: The platforms where replies are posted. Elsewhere the client fetches each reply,
            so every message gets the notice.
    """

    def __init__(self, notes: Notes, platforms: frozenset[Platform]) -> None:
        self._notes = notes
        self._platforms = platforms

    async def due(self, message: Message, limit: str) -> bool:
        """Return whether to notify the asker with this message; the same result on a retry.

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
        # One note per minute: only one of the processes can be the first to store it.
        about, now = message.interaction_id, f"{key}:{minute}"
        mine = f"{at} {about}"
        if await self._notes.first(thread.tenant, now, mine, interaction_id=about):
            return True
        return await self._notes.get(thread.tenant, now) == mine


_COMPONENT_NAME = "limits"
_STATUS_REASON_CHARACTERS = 160


def _now() -> datetime:
    return datetime.now(UTC)


async def limits_status(
    settings: Settings,
    use: UsageCounts,
    current_pause: CurrentPause,
    now: Callable[[], datetime] = _now,
) -> ComponentStatus:
    """Return the status of limits and pause now; "failed" only if the store is unavailable."""
    limits = usage_limits(settings)
    try:
        pause = await current_pause(settings.tenant)
        spent = Spent()
        if limits.tokens or limits.usd:
            spent = await use.spent(settings.tenant, day_of(now()), now())
    except StoreUnavailable as error:
        return ComponentStatus(_COMPONENT_NAME, "failed", str(error))
    return limits_status_of(limits, spent, pause)


def limits_status_of(limits: UsageLimits, spent: Spent, pause: Pause | None) -> ComponentStatus:
    """Return the status for given limits, use and pause."""
    if pause is not None:
        detail = tr(
            "paused by {who} since {since}: {reason}.",
            who=short_actor_name(pause.by),
            since=pause.since.strftime("%Y-%m-%d %H:%M UTC"),
            reason=clip(pause.reason, _STATUS_REASON_CHARACTERS).rstrip("."),
        )
        return ComponentStatus(
            _COMPONENT_NAME, "paused", detail, "Answer again: python -m bot resume"
        )
    used_up = join_texts("; ", _used_up(limits, spent))
    if used_up:
        cure = tr("It starts anew at midnight UTC. Allow more: docs/limits.md")
        return ComponentStatus(
            _COMPONENT_NAME, "limited", tr("used up: {limits}.", limits=used_up), cure
        )
    listed = join_texts("; ", _configured_limits(limits))
    if not listed:
        return ComponentStatus(
            _COMPONENT_NAME,
            "absent",
            tr("nothing is limited."),
            tr("Set a rate or a budget: docs/limits.md"),
        )
    return ComponentStatus(_COMPONENT_NAME, "ready", listed)


def _used_up(limits: UsageLimits, spent: Spent) -> Iterator[str]:
    if 0 < limits.tokens <= spent.tokens:
        yield tr("{used} of {limit} tokens today", used=spent.tokens, limit=limits.tokens)
    if 0 < limits.usd <= spent.usd:
        yield tr("{used} of {limit} USD today", used=_usd(spent.usd), limit=_usd(limits.usd))


def _configured_limits(limits: UsageLimits) -> Iterator[str]:
    if limits.per_user:
        yield trn(
            "{n} message a minute from one person",
            "{n} messages a minute from one person",
            limits.per_user,
        )
    if limits.per_channel:
        yield tr("{n} in one channel", n=limits.per_channel)
    if limits.tokens:
        yield tr("{n} tokens a day", n=limits.tokens)
    if limits.usd:
        yield tr("{usd} USD a day", usd=_usd(limits.usd))
    if limits.tokens_per_user:
        yield tr("{n} tokens a day for one person", n=limits.tokens_per_user)


def _usd(sum_: float) -> str:
    return number_text(f"{sum_:.2f}")

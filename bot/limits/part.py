"""What the operator sees of limits and pause: at the start, on /ready, and from the doctor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from bot.domain.errors import StoreUnavailable
from bot.domain.health import ComponentStatus
from bot.domain.settings import Settings
from bot.domain.text.markdown import clip
from bot.domain.usage import Pause, Spent, UsageLimits, day_of, usage_limits
from bot.domain.users import short_actor_name
from bot.limits.limits import CountsUse, KnowsPause

_NAME = "limits"
_REASON_CHARACTERS = 160


def _now() -> datetime:
    return datetime.now(UTC)


async def limits_part(
    settings: Settings,
    use: CountsUse,
    pauses: KnowsPause,
    now: Callable[[], datetime] = _now,
) -> ComponentStatus:
    """Say what is limited, used up or paused now; only a record that is away makes it "failed"."""
    limits = usage_limits(settings)
    try:
        pause = await pauses.current(settings.tenant)
        spent = Spent()
        if limits.tokens or limits.usd:
            spent = await use.spent(settings.tenant, day_of(now()), now())
    except StoreUnavailable as error:
        return ComponentStatus(_NAME, "failed", str(error))
    return limits_as(limits, spent, pause)


def limits_as(limits: UsageLimits, spent: Spent, pause: Pause | None) -> ComponentStatus:
    """Return the part for what is configured and spent."""
    if pause is not None:
        since = pause.since.strftime("%Y-%m-%d %H:%M UTC")
        reason = clip(pause.reason, _REASON_CHARACTERS).rstrip(".")
        detail = f"paused by {short_actor_name(pause.by)} since {since}: {reason}."
        return ComponentStatus(_NAME, "paused", detail, "Answer again: python -m bot resume")
    used_up = "; ".join(_used_up(limits, spent))
    if used_up:
        cure = "It starts anew at midnight UTC. Allow more: docs/limits.md"
        return ComponentStatus(_NAME, "limited", f"used up: {used_up}.", cure)
    listed = "; ".join(_listed(limits))
    if not listed:
        return ComponentStatus(
            _NAME, "absent", "nothing is limited.", "Set a rate or a budget: docs/limits.md"
        )
    return ComponentStatus(_NAME, "ready", listed)


def _used_up(limits: UsageLimits, spent: Spent) -> Iterator[str]:
    if 0 < limits.tokens <= spent.tokens:
        yield f"{spent.tokens:,} of {limits.tokens:,} tokens today"
    if 0 < limits.usd <= spent.usd:
        yield f"{spent.usd:.2f} of {limits.usd:.2f} USD today"


def _listed(limits: UsageLimits) -> Iterator[str]:
    if limits.per_user:
        yield f"{limits.per_user} messages a minute from one person"
    if limits.per_channel:
        yield f"{limits.per_channel} in one channel"
    if limits.tokens:
        yield f"{limits.tokens:,} tokens a day"
    if limits.usd:
        yield f"{limits.usd:.2f} USD a day"
    if limits.tokens_per_user:
        yield f"{limits.tokens_per_user:,} tokens a day for one person"

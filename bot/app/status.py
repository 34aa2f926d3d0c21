"""The state of every part, as readiness, the board and the start tell it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from bot.domain import health
from bot.domain.capabilities import TellsState
from bot.domain.health import ComponentStatus
from bot.domain.settings import Settings
from bot.durable.keeper import Keeper
from bot.limits.part import limits_part
from bot.observing.tracing.setup import tracing_part
from bot.parts import Parts
from bot.store.store import Store
from rag.errors import RagError

CheckPart = Callable[[], Awaitable[ComponentStatus]]
CheckParts = Callable[[], Awaitable[Sequence[ComponentStatus]]]


async def status(
    settings: Settings, parts: Parts, confluence: ComponentStatus | None = None
) -> Sequence[ComponentStatus]:
    """Return what is configured and what is not; quick enough for every readiness probe.

    ``confluence`` is how far that was read; None: it is not configured.
    """
    name = parts.embedder.name if parts.embedder else None
    known = await _knowledge(settings, parts)
    trouble = known.detail if known.state == "failed" else ""
    return (
        known,
        health.embedder(settings, name, parts.embedder_trouble),
        health.model(settings),
        health.calibration(settings, parts.uncalibrated),
        health.slack(settings),
        health.teams(settings),
        confluence or health.confluence(None, datetime.now(UTC)),
        health.azure_search(settings, trouble),
        health.web_access(settings),
    )


def checking(
    settings: Settings,
    parts: Parts,
    store: Store,
    keeper: Keeper,
    *,
    channels: Sequence[object],
    confluence: CheckPart | None = None,
) -> CheckParts:
    """Return what looks at every part of a running server; channels may tell of their own.

    ``confluence`` tells how far that was read; None: it is not configured.
    A platform that fails leaves the others: no server is taken out of service for it.
    """
    telling = [each for each in channels if isinstance(each, TellsState)]

    async def check_parts() -> Sequence[ComponentStatus]:
        limits = await limits_part(settings, store.counting, store.pauses)
        told = {part.name: replace(part, vital=False) for part in (one.part() for one in telling)}
        read = await confluence() if confluence is not None else None
        parts_now = [told.get(part.name, part) for part in await status(settings, parts, read)]
        return (*parts_now, limits, tracing_part(), keeper.part())

    return check_parts


async def _knowledge(settings: Settings, parts: Parts) -> ComponentStatus:
    try:
        return health.knowledge(await parts.index.spaces(settings.tenant))
    except RagError as error:
        return ComponentStatus("knowledge", "failed", str(error))

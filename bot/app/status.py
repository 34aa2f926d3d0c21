"""The state of every part, as readiness, the board and the start tell it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from bot import startup
from bot.capabilities import TellsState
from bot.config import Settings
from bot.durable.keeper import Keeper
from bot.limits.part import limits_part
from bot.observing.tracing.setup import tracing_part
from bot.parts import Parts
from bot.startup import Part
from bot.store.store import Store
from rag.errors import RagError

CheckPart = Callable[[], Awaitable[Part]]
CheckParts = Callable[[], Awaitable[Sequence[Part]]]


async def status(
    settings: Settings, parts: Parts, confluence: Part | None = None
) -> Sequence[Part]:
    """Return what is configured and what is not; quick enough for every readiness probe.

    ``confluence`` is how far that was read; None: it is not configured.
    """
    name = parts.embedder.name if parts.embedder else None
    known = await _knowledge(settings, parts)
    trouble = known.detail if known.state == "failed" else ""
    return (
        known,
        startup.embedder(settings, name, parts.embedder_trouble),
        startup.model(settings),
        startup.calibration(settings, parts.uncalibrated),
        startup.slack(settings),
        startup.teams(settings),
        confluence or startup.confluence(None, datetime.now(UTC)),
        startup.azure_search(settings, trouble),
        startup.doors(settings),
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

    async def check_parts() -> Sequence[Part]:
        limits = await limits_part(settings, store.counting, store.pauses)
        told = {part.name: replace(part, vital=False) for part in (one.part() for one in telling)}
        read = await confluence() if confluence is not None else None
        parts_now = [told.get(part.name, part) for part in await status(settings, parts, read)]
        return (*parts_now, limits, tracing_part(), keeper.part())

    return check_parts


async def _knowledge(settings: Settings, parts: Parts) -> Part:
    try:
        return startup.knowledge(await parts.index.spaces(settings.tenant))
    except RagError as error:
        return Part("knowledge", "failed", str(error))

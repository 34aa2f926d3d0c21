"""Report the status of every component, at the start and while the server runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from bot.answering.limit_reports import limits_status
from bot.app.components import Components
from bot.domain import health
from bot.domain.health import CheckComponents, ComponentStatus
from bot.domain.ports import TellsState
from bot.domain.settings import Settings
from bot.inbox.ports import Supervises
from bot.observability.tracing import tracing_part
from bot.store.database import Store
from rag.errors import RagError

CheckComponent = Callable[[], Awaitable[ComponentStatus]]


async def status(
    settings: Settings, parts: Components, confluence: ComponentStatus | None = None
) -> Sequence[ComponentStatus]:
    """Return the status of every component; quick enough for every readiness probe.

    ``confluence`` is the status of its sync; None: it is not configured.
    """
    name = parts.embedder.name if parts.embedder else None
    known = await _index_status(settings, parts)
    trouble = known.detail if known.state == "failed" else ""
    return (
        known,
        health.embedder(settings, name, parts.embedder_trouble),
        *health.models(settings),
        health.calibration(settings, parts.uncalibrated),
        health.slack(settings),
        health.teams(settings),
        confluence or health.confluence(None, datetime.now(UTC)),
        health.azure_search(settings, trouble),
        health.web_access(settings),
    )


def component_checker(
    settings: Settings,
    parts: Components,
    store: Store,
    supervisor: Supervises,
    *,
    channels: Sequence[object],
    confluence: CheckComponent | None = None,
) -> CheckComponents:
    """Return a function that checks all components of a running server.

    ``channels`` may report a status of their own. ``confluence`` returns the status of its sync;
    None: it is not configured. A failed platform is not vital: no server is taken out of service
    for it.
    """
    telling = [each for each in channels if isinstance(each, TellsState)]

    async def check_parts() -> Sequence[ComponentStatus]:
        limits = await limits_status(settings, store.counting, store.pauses.current)
        told = {part.name: replace(part, vital=False) for part in (one.part() for one in telling)}
        read = await confluence() if confluence is not None else None
        parts_now = [told.get(part.name, part) for part in await status(settings, parts, read)]
        return (*parts_now, limits, tracing_part(), supervisor.part())

    return check_parts


async def _index_status(settings: Settings, parts: Components) -> ComponentStatus:
    try:
        return health.knowledge(await parts.index.spaces(settings.tenant))
    except RagError as error:
        return ComponentStatus("knowledge", "failed", str(error))

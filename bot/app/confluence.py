"""What is told of Confluence: at the start, by readiness and the board, and by the doctor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from bot.app.settings import load_ingestion_settings
from bot.app.shelves import Shelves
from bot.domain import health
from bot.domain.errors import SettingInvalid
from bot.domain.health import ComponentStatus
from ingestion.assembly import cadence_of
from ingestion.config import Settings
from ingestion.errors import LedgerUnavailable
from ingestion.runs.schedule import Cadence
from ingestion.runs.source_registry import diagnose_wiki
from ingestion.runs.wiki_status import wiki_status

_NAME = "Confluence"
_MAY_TAKE = timedelta(minutes=30)
_LATE = "passes are late, so pages are answered from as they were: look at the runs and the log."
_STATES: dict[bool | None, Literal["ready", "limited", "failed"]] = {
    True: "ready",
    None: "limited",
    False: "failed",
}


def watching(
    settings: Settings | None, shelves: Shelves
) -> Callable[[], Awaitable[ComponentStatus]]:
    """Return what says how far Confluence was read; it asks the records alone."""

    async def part() -> ComponentStatus:
        now = datetime.now(UTC)
        if settings is None or not settings.confluence_configured:
            return health.confluence(None, now)
        try:
            return health.confluence(await _wiki(settings, shelves, now), now)
        except LedgerUnavailable as error:
            return ComponentStatus(_NAME, "limited", str(error), vital=False)

    return part


async def _wiki(settings: Settings, shelves: Shelves, now: datetime) -> health.ConfluenceState:
    cadence = cadence_of(settings)
    scheduler = shelves.scheduler
    read = None if scheduler is None else scheduler.known
    known = await wiki_status(shelves.records, cadence, now, read)
    troubles = [f"{one.space}: {one.why}." for one in known.troubles]
    if scheduler is not None and scheduler.trouble:
        troubles.insert(0, scheduler.trouble)
    elif known.looked_at is not None and _is_late(now - known.looked_at, cadence):
        troubles.append(_LATE)
    return health.ConfluenceState(
        address=settings.confluence_url or "",
        spaces=known.spaces,
        looked_at=known.looked_at,
        next_at=known.next_at,
        scheduled=not cadence.never,
        troubles=troubles,
    )


def _is_late(ago: timedelta, cadence: Cadence) -> bool:
    """Tell whether a look is longer ago than two passes and what they may take."""
    every = min((each for each in (cadence.changes, cadence.whole) if each), default=None)
    return every is not None and ago > timedelta(seconds=2 * every) + _MAY_TAKE


async def confluence_checks() -> Sequence[ComponentStatus]:
    """Try all that is done with Confluence, for the doctor."""
    try:
        settings = load_ingestion_settings()
    except SettingInvalid as error:
        return [ComponentStatus(_NAME, "failed", str(error))]
    if not settings.confluence_configured:
        return [health.confluence(None, datetime.now(UTC))]
    return [
        ComponentStatus(
            f"{_NAME}: {one.name}" if one.name else _NAME, _STATES[one.works], one.detail
        )
        for one in await diagnose_wiki(settings)
    ]

"""What is told of Confluence: at the start, by readiness and the board, and by the doctor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Literal

from bot import startup
from bot.app.settings import load_ingestion_settings
from bot.app.shelves import Shelves
from bot.errors import SettingInvalid
from bot.startup import Part
from ingestion.assembly import cadence_of
from ingestion.config import Settings
from ingestion.errors import LedgerUnavailable
from ingestion.opening import check_wiki
from ingestion.outlook import outlook

_NAME = "Confluence"
_STATES: dict[bool | None, Literal["ready", "limited", "failed"]] = {
    True: "ready",
    None: "limited",
    False: "failed",
}


def watching(settings: Settings | None, shelves: Shelves) -> Callable[[], Awaitable[Part]]:
    """Return what says how far Confluence was read; it asks the records alone."""

    async def part() -> Part:
        now = datetime.now(UTC)
        if settings is None or not settings.confluence_configured:
            return startup.confluence(None, now)
        try:
            return startup.confluence(await _wiki(settings, shelves, now), now)
        except LedgerUnavailable as error:
            return Part(_NAME, "limited", str(error), vital=False)

    return part


async def _wiki(settings: Settings, shelves: Shelves, now: datetime) -> startup.Wiki:
    cadence = cadence_of(settings)
    known = await outlook(shelves.records, cadence, now)
    away = shelves.scheduler.trouble if shelves.scheduler is not None else ""
    return startup.Wiki(
        address=settings.confluence_url or "",
        spaces=known.spaces,
        looked_at=known.looked_at,
        next_at=known.next_at,
        scheduled=not cadence.never,
        troubles=[
            *([away] if away else []),
            *(f"{one.space}: {one.why}" for one in known.troubles),
        ],
    )


async def confluence_checks() -> Sequence[Part]:
    """Try all that is done with Confluence, for the doctor."""
    try:
        settings = load_ingestion_settings()
    except SettingInvalid as error:
        return [Part(_NAME, "failed", str(error))]
    if not settings.confluence_configured:
        return [startup.confluence(None, datetime.now(UTC))]
    return [
        Part(f"{_NAME}: {one.name}" if one.name else _NAME, _STATES[one.works], one.detail)
        for one in await check_wiki(settings)
    ]

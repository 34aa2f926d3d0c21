"""How many of those who ask are known in Confluence, for the doctor: counts, and nobody's name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from bot.app.settings import load_ingestion_settings
from bot.domain.errors import BotError
from bot.domain.health import ComponentStatus
from bot.domain.settings import Settings
from bot.store.store import database_url, open_store
from ingestion.config import Settings as IngestionSettings
from ingestion.errors import IngestionError

_NAME = "Confluence: people"
_DAYS = 30
_MOST = 1000
_CURE = (
    "They are answered from what everyone may read. Name them in CONFLUENCE_DIRECTORY "
    "(docs/confluence.md)."
)


async def people_checks(settings: Settings) -> Sequence[ComponentStatus]:
    """Look up everybody who asked in the last 30 days; nothing where there is no Confluence."""
    try:
        ingestion = load_ingestion_settings()
        if not ingestion.confluence_configured:
            return []
        return [await _part(ingestion, await _askers(settings))]
    except (BotError, IngestionError) as error:
        return [ComponentStatus(_NAME, "failed", str(error))]


async def _askers(settings: Settings) -> Sequence[str]:
    store = await open_store(database_url(settings))
    try:
        since = datetime.now(UTC) - timedelta(days=_DAYS)
        return await store.askers.emails(settings.tenant, since, _MOST)
    finally:
        await store.close()


async def _part(ingestion: IngestionSettings, emails: Sequence[str]) -> ComponentStatus:
    # What is not configured is not imported.
    from ingestion.confluence.assembly import known_people_share as known_share

    share = await known_share(ingestion, emails)
    if not share.asked:
        return ComponentStatus(
            _NAME, "ready", f"nobody with an e-mail address asked in {_DAYS} days"
        )
    told = f"{share.found} of {share.asked} who asked in {_DAYS} days are known"
    if share.unsure:
        return ComponentStatus(
            _NAME, "failed", f"{told}; {share.unsure} could not be looked up:", share.trouble
        )
    if share.missing:
        per_cent = f"{share.missing / share.asked:.0%}"
        return ComponentStatus(
            _NAME, "limited", f"{told}; {share.missing} are not ({per_cent}).", _CURE
        )
    return ComponentStatus(_NAME, "ready", told)

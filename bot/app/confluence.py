"""Connect Confluence: user principals, the status of its sync, and checks for the doctor."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bot.answering.admission import VouchedDirectory
from bot.app.documents import DocumentServices, load_ingestion_settings
from bot.domain import health
from bot.domain.errors import BotError, SettingInvalid
from bot.domain.health import ComponentStatus
from bot.domain.messages import Person
from bot.domain.ports import Directory, RechecksPermissions
from bot.domain.settings import Settings
from bot.store.database import database_url, open_store
from ingestion.assembly import cadence_of
from ingestion.config import ENV_FILE
from ingestion.config import Settings as IngestionSettings
from ingestion.errors import IngestionError, LedgerUnavailable
from ingestion.errors import SettingInvalid as IngestionSettingInvalid
from ingestion.runs.schedule import Cadence, wiki_status
from ingestion.runs.source_registry import diagnose_wiki
from rag.types import Principal

if TYPE_CHECKING:
    # What is not configured is not imported.
    from ingestion.confluence.publishing import ConfluencePublisher

_CONFLUENCE_PRINCIPALS = ("user:confluence:", "group:confluence:")


LookUpPrincipals = Callable[[str], Awaitable[frozenset[Principal]]]
"""Returns the principals of the Confluence account with a verified address; never raises."""


@dataclass(frozen=True, slots=True)
class ConfluenceAccess:
    """The bot's access to Confluence while it serves; ``recheck`` only where that is configured."""

    directory: Directory
    recheck: RechecksPermissions | None = None


class ConfluenceDirectory:
    """Adds Confluence principals to those that a platform vouches for. Implements `Directory`.

    Confluence principals come from Confluence alone: a group of the same name elsewhere, such as
    ``confluence:board`` at an identity provider, is none of its groups.
    """

    def __init__(self, look_up: LookUpPrincipals | None = None) -> None:
        self._vouched = VouchedDirectory()
        self._look_up = look_up

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        claimed = await self._vouched.principals(tenant, person)
        vouched = frozenset(each for each in claimed if not each.startswith(_CONFLUENCE_PRINCIPALS))
        if self._look_up is None or not person.email:
            return vouched
        return vouched | await self._look_up(person.email)


@asynccontextmanager
async def open_confluence(settings: IngestionSettings | None) -> AsyncIterator[ConfluenceAccess]:
    """Open Confluence as configured; without it, a person has their platform's principals only.

    Raises bot.domain.errors.SettingInvalid.
    """
    if settings is None or not settings.confluence_configured:
        if settings is not None and settings.confluence_last_check:
            raise SettingInvalid(
                "CONFLUENCE_LAST_CHECK=true needs Confluence. Set CONFLUENCE_URL and "
                "CONFLUENCE_TOKEN, or leave it out."
            )
        yield ConfluenceAccess(ConfluenceDirectory())
        return
    # Imported only when Confluence is configured.
    from ingestion.confluence.assembly import open_lookup

    try:
        lookup = open_lookup(settings)
    except IngestionSettingInvalid as error:
        raise SettingInvalid(str(error)) from error
    async with lookup as (accounts, recheck):
        yield ConfluenceAccess(ConfluenceDirectory(accounts.principals), recheck)


def answer_publisher(settings: IngestionSettings | None) -> ConfluencePublisher | None:
    """Return what publishes answers in Confluence, which the caller closes; None if it isn't set.

    Raises bot.domain.errors.SettingInvalid.
    """
    if settings is None or settings.confluence_answers_parent is None:
        return None
    from ingestion.confluence.publishing import open_publisher

    try:
        return open_publisher(settings)
    except IngestionSettingInvalid as error:
        raise SettingInvalid(str(error)) from error


_COMPONENT = "Confluence"
_LONGEST_PASS = timedelta(minutes=30)
_LATE = "passes are late, so pages are answered from as they were: look at the runs and the log."
_STATES: dict[bool | None, Literal["ready", "limited", "failed"]] = {
    True: "ready",
    None: "limited",
    False: "failed",
}


def confluence_checker(
    settings: IngestionSettings | None, documents: DocumentServices
) -> Callable[[], Awaitable[ComponentStatus]]:
    """Return a function that reports the status of the sync, from stored records alone."""

    async def part() -> ComponentStatus:
        now = datetime.now(UTC)
        if settings is None or not settings.confluence_configured:
            return health.confluence(None, now)
        try:
            return health.confluence(await _sync_status(settings, documents, now), now)
        except LedgerUnavailable as error:
            return ComponentStatus(_COMPONENT, "limited", str(error), vital=False)

    return part


async def _sync_status(
    settings: IngestionSettings, documents: DocumentServices, now: datetime
) -> health.ConfluenceState:
    cadence = cadence_of(settings)
    scheduler = documents.scheduler
    read = None if scheduler is None else scheduler.known
    known = await wiki_status(documents.records, cadence, now, read)
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
    """Return whether the last look is longer ago than two passes and their longest duration."""
    every = min((each for each in (cadence.changes, cadence.whole) if each), default=None)
    return every is not None and ago > timedelta(seconds=2 * every) + _LONGEST_PASS


async def confluence_checks(env_file: Path = ENV_FILE) -> Sequence[ComponentStatus]:
    """Check every operation on Confluence, as the environment and ``env_file`` configure it."""
    try:
        settings = load_ingestion_settings(env_file)
    except SettingInvalid as error:
        return [ComponentStatus(_COMPONENT, "failed", str(error))]
    if not settings.confluence_configured:
        return [health.confluence(None, datetime.now(UTC))]
    return [
        ComponentStatus(
            f"{_COMPONENT}: {one.name}" if one.name else _COMPONENT, _STATES[one.works], one.detail
        )
        for one in await diagnose_wiki(settings)
    ]


_PEOPLE_COMPONENT = "Confluence: people"
_ASKED_WITHIN_DAYS = 30
_MOST_ASKERS = 1000
_UNKNOWN_ASKERS_CURE = (
    "They are answered from what everyone may read. Name them in CONFLUENCE_DIRECTORY "
    "(docs/confluence.md)."
)


async def people_checks(settings: Settings) -> Sequence[ComponentStatus]:
    """Look up everybody who asked in the last 30 days; return nothing without Confluence."""
    try:
        ingestion = load_ingestion_settings()
        if not ingestion.confluence_configured:
            return []
        return [await _people_status(ingestion, await _recent_askers(settings))]
    except (BotError, IngestionError) as error:
        return [ComponentStatus(_PEOPLE_COMPONENT, "failed", str(error))]


async def _recent_askers(settings: Settings) -> Sequence[str]:
    async with await open_store(database_url(settings)) as store:
        since = datetime.now(UTC) - timedelta(days=_ASKED_WITHIN_DAYS)
        return await store.askers.emails(settings.tenant, since, _MOST_ASKERS)


async def _people_status(ingestion: IngestionSettings, emails: Sequence[str]) -> ComponentStatus:
    # Imported only when Confluence is configured.
    from ingestion.confluence.assembly import known_people_share

    share = await known_people_share(ingestion, emails)
    if not share.asked:
        return ComponentStatus(
            _PEOPLE_COMPONENT,
            "ready",
            f"nobody with an e-mail address asked in {_ASKED_WITHIN_DAYS} days",
        )
    known = f"{share.found} of {share.asked} who asked in {_ASKED_WITHIN_DAYS} days are known"
    if share.unsure:
        return ComponentStatus(
            _PEOPLE_COMPONENT,
            "failed",
            f"{known}; {share.unsure} could not be looked up:",
            share.trouble,
        )
    if share.missing:
        per_cent = f"{share.missing / share.asked:.0%}"
        return ComponentStatus(
            _PEOPLE_COMPONENT,
            "limited",
            f"{known}; {share.missing} are not ({per_cent}).",
            _UNKNOWN_ASKERS_CURE,
        )
    return ComponentStatus(_PEOPLE_COMPONENT, "ready", known)

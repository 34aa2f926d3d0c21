"""Find and open the source that fills each space: uploads, a named folder, or a wiki.

Opened from the settings, for every process alike; what is not configured is not imported.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import structlog

from ingestion.config import Settings
from ingestion.errors import DocumentUnknown, IngestionError, SourceUnavailable
from ingestion.folder import LARGEST_FILE
from ingestion.records.ledger import Ledger, Records, records_of
from ingestion.records.types import FolderEntry
from ingestion.runs.tracking import failures_of, synced_state_after
from ingestion.sync.sync import Folder, source_of
from ingestion.types import Report, Source
from ingestion.uploads import Uploads
from ingestion.validation import shortened
from rag.types import Check, Principal

if TYPE_CHECKING:
    # What is not configured is not imported.
    from ingestion.confluence.source import ConfluenceSources

log = structlog.get_logger(__name__)


_TAKEN_CURE = (
    "Leave it out by CONFLUENCE_SKIP_SPACES, or forget what fills it: "
    "python -m ingestion forget KEY --yes"
)


def taken_spaces_line(spaces: Sequence[str]) -> str:
    """Return a message about wiki spaces whose keys uploads or folders already use."""
    keys = ", ".join(spaces)
    return (
        f"{keys}: filled by uploads or a folder, so that Confluence's is not read. {_TAKEN_CURE}."
    )


class Sources(Protocol):
    """The sources that can be read again."""

    async def spaces(self) -> Sequence[str]:
        """Return the spaces that have a source."""
        ...

    async def source(self, space: str) -> Source:
        """Return the source of a space. Raises DocumentUnknown."""
        ...

    async def listing_error(self) -> str:
        """Return why ``spaces`` may be incomplete now; "" where it is complete."""
        ...

    async def space_of(self, url: str) -> str | None:
        """Return the space of the page at an address, indexed or not; None for a foreign page.

        Raises SourceUnavailable.
        """
        ...


class KnownSources:
    """Finds the source of a space: uploads, folders stored in the ledger, or a wiki.

    Implements ``Sources``. The wiki's methods raise SourceUnavailable; a space with another source
    is not the wiki's.
    """

    def __init__(self, uploads: Uploads, ledger: Ledger, wiki: Sources | None = None) -> None:
        self._uploads = uploads
        self._ledger = ledger
        self._wiki = wiki
        self._clash: Sequence[str] = ()

    async def spaces(self) -> Sequence[str]:
        return sorted({*await self._local_spaces(), *await self._last_known_wiki_spaces()})

    async def source(self, space: str) -> Source:
        if self._uploads.has(space):
            return self._uploads.source(space)
        folder = (await self._ledger.folders()).get(space)
        if folder is not None:
            return source_of(_folder(space, folder))
        if self._wiki is not None:
            return await self._wiki.source(space)
        raise DocumentUnknown(
            f"The source of the space {shortened(space)} is unknown. Name it once: "
            f"python -m ingestion folder PATH --space KEY"
        )

    async def listing_error(self) -> str:
        return "" if self._wiki is None else await self._wiki.listing_error()

    async def space_of(self, url: str) -> str | None:
        return None if self._wiki is None else await self._wiki.space_of(url)

    async def wiki_spaces(self) -> Sequence[str]:
        """Return the spaces that the wiki fills: those without another source.

        Raises SourceUnavailable.
        """
        if self._wiki is None:
            return ()
        there = await self._wiki.spaces()
        clash = await self._taken(there)
        if clash and clash != self._clash:
            # Logged once only: due passes are checked for every few seconds.
            log.error("wiki.spaces_taken", spaces=clash, cure=_TAKEN_CURE)
        self._clash = clash
        return [space for space in there if space not in clash]

    async def taken(self) -> Sequence[str]:
        """Return the wiki's spaces whose keys have another source. Raises SourceUnavailable."""
        return () if self._wiki is None else await self._taken(await self._wiki.spaces())

    async def warnings(self, space: str) -> tuple[str, ...]:
        """Return the warnings to show with a run over a space."""
        if space not in await self._local_spaces():
            return ()
        try:
            return (taken_spaces_line([space]),) if space in await self.taken() else ()
        except SourceUnavailable:
            return ()

    async def _local_spaces(self) -> frozenset[str]:
        """Return the spaces filled by uploads and folders."""
        return frozenset({*self._uploads.spaces(), *await self._ledger.folders()})

    async def _taken(self, there: Collection[str]) -> Sequence[str]:
        return sorted((await self._local_spaces()).intersection(there))

    async def _last_known_wiki_spaces(self) -> Sequence[str]:
        """Return the wiki's spaces; while it is unavailable, those read before."""
        if self._wiki is None:
            return ()
        try:
            return await self._wiki.spaces()
        except SourceUnavailable as error:
            log.warning("wiki.away", why=str(error))
            return list(await self._ledger.synced())


def folder_entry(folder: Folder) -> FolderEntry:
    """Return a folder as a ledger entry."""
    readers = tuple(tuple(sorted(one)) for one in folder.readers)
    return FolderEntry(str(folder.path.resolve()), readers, folder.base_url)


async def remember_folder(ledger: Ledger, folder: Folder, report: Report, begun: datetime) -> None:
    """Store that a folder fills its space, and when it was last read."""
    if report.dry_run:
        return
    await ledger.note_folder(folder.space, folder_entry(folder))
    await record_report(ledger, report, begun)


async def record_report(ledger: Ledger, report: Report, begun: datetime) -> None:
    """Store the sync state that results from a run over a space."""
    ended = datetime.now(UTC)
    failures = failures_of(report)
    await ledger.change_synced(
        report.space, lambda before: synced_state_after(before, report, failures, begun, ended)
    )


def _folder(space: str, entry: FolderEntry) -> Folder:
    readers = tuple(frozenset(Principal(name) for name in one) for one in entry.readers)
    return Folder(Path(entry.path), space, readers, entry.base_url)


def open_wiki_sources(settings: Settings) -> ConfluenceSources | None:
    """Return the configured wiki's spaces; None without one. Raises SettingInvalid."""
    if not settings.confluence_configured:
        return None
    # Imported here, so that what is not configured is not imported.
    from ingestion.confluence.assembly import confluence_sources

    return confluence_sources(settings)


async def diagnose_wiki(settings: Settings) -> Sequence[Check]:
    """Try every operation that is used on the configured wiki; empty without one."""
    if not settings.confluence_configured:
        return ()
    # Imported here, so that what is not configured is not imported.
    from ingestion.confluence.diagnostics import diagnose_confluence

    checks = await diagnose_confluence(settings)
    taken = await _taken_keys(settings)
    return (
        [*checks, Check("Space keys", works=None, detail=taken_spaces_line(taken))]
        if taken
        else checks
    )


async def _taken_keys(settings: Settings) -> Sequence[str]:
    """Return the wiki's spaces whose keys uploads or folders have, as far as can be determined."""
    if not settings.data_dir.is_dir():
        return ()
    records = records_of(settings, settings.database_url)
    try:
        async with open_sources(settings, records) as sources:
            return await sources.taken()
    except IngestionError:
        # The other checks show the reason.
        return ()
    finally:
        records.close()


@asynccontextmanager
async def open_sources(
    settings: Settings, records: Records, largest: int = LARGEST_FILE
) -> AsyncIterator[KnownSources]:
    """Open all sources of spaces; files of up to ``largest`` bytes. Raises SettingInvalid."""
    wiki = open_wiki_sources(settings)
    try:
        uploads = Uploads(settings.data_dir, settings.tenant, largest)
        yield KnownSources(uploads, records.ledger, wiki)
    finally:
        if wiki is not None:
            await wiki.close()

"""Documents and their indexing, joined from ingestion to the bot's ports."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiohttp import web

from bot.chat.documents import (
    ErrorTranslation,
    TranslatedDocuments,
    TranslatedReindex,
    TranslatedSchedule,
)
from bot.domain.errors import (
    DocumentInTheWay,
    DocumentRefused,
    DocumentUnknown,
    SettingInvalid,
    StoreUnavailable,
)
from bot.domain.settings import Settings
from bot.doors.receiving import upload_bounds
from bot.parts import Parts
from ingestion.assembly import cadence_of, library_of, open_library, scheduler_of
from ingestion.config import Settings as IngestionSettings
from ingestion.errors import DocumentInTheWay as InTheWay
from ingestion.errors import DocumentRefused as Refused
from ingestion.errors import DocumentUnknown as Unknown
from ingestion.errors import LedgerUnavailable, SourceUnavailable
from ingestion.errors import SettingInvalid as WikiSettingInvalid
from ingestion.library import Library
from ingestion.records.assembly import Records, records_of
from ingestion.runs.background import OnRemovalRefused
from ingestion.runs.schedule import Scheduler
from ingestion.runs.source_registry import OpenSources, open_wiki_sources
from rag.errors import RagError

REFUSALS: ErrorTranslation = {
    Unknown: DocumentUnknown,
    InTheWay: DocumentInTheWay,
    Refused: DocumentRefused,
    LedgerUnavailable: StoreUnavailable,
    SourceUnavailable: DocumentInTheWay,
    RagError: StoreUnavailable,
    OSError: StoreUnavailable,
}
"""What ingestion and the disk say, as the bot's own errors."""


@dataclass(frozen=True, slots=True)
class Shelves:
    """What is indexed and how it gets there; use ``open`` while the server runs."""

    documents: TranslatedDocuments
    reindexing: TranslatedReindex
    library: Library
    scheduler: Scheduler | None
    records: Records
    wiki: OpenSources | None

    @property
    def schedule(self) -> TranslatedSchedule | None:
        """What tells when the schedule reads what."""
        return None if self.scheduler is None else TranslatedSchedule(self.scheduler, REFUSALS)

    async def open(self, _: web.Application) -> AsyncIterator[None]:
        """Resume what was being indexed, begin what is due, and stop it all with the server."""
        try:
            async with open_library(self.library, self.scheduler):
                yield
        finally:
            if self.wiki is not None:
                await self.wiki.close()
            self.records.close()


def shelves_of(
    settings: Settings,
    parts: Parts,
    ingestion: IngestionSettings | None = None,
    on_held_back: OnRemovalRefused | None = None,
) -> Shelves:
    """Join them; nothing is started. Without ``ingestion`` no wiki is read.

    ``on_held_back`` is told of runs that would have removed too much.

    Raises SettingInvalid.
    """
    records = records_of(settings)
    try:
        wiki = None if ingestion is None else open_wiki_sources(ingestion)
    except WikiSettingInvalid as error:
        raise SettingInvalid(str(error)) from error
    library = library_of(
        parts.index,
        tenant=settings.tenant,
        data_dir=settings.data_dir,
        largest=upload_bounds(settings.max_upload_mb).bytes,
        records=records,
        wiki=wiki,
        on_held_back=on_held_back,
    )
    return Shelves(
        TranslatedDocuments(library, REFUSALS),
        TranslatedReindex(library.runs, REFUSALS),
        library,
        None if ingestion is None else scheduler_of(library, records, cadence_of(ingestion)),
        records,
        wiki,
    )

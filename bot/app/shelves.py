"""Documents and their indexing, joined from ingestion to the bot's ports."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiohttp import web

from bot.config import Settings
from bot.documents.told import ToldDocuments, ToldReindex, Translation
from bot.doors.receiving import upload_bounds
from bot.errors import DocumentInTheWay, DocumentRefused, DocumentUnknown, StoreUnavailable
from bot.parts import Parts
from ingestion.assembly import library_of, open_library
from ingestion.errors import DocumentInTheWay as InTheWay
from ingestion.errors import DocumentRefused as Refused
from ingestion.errors import DocumentUnknown as Unknown
from ingestion.errors import LedgerUnavailable
from ingestion.library import Library
from rag.errors import RagError

REFUSALS: Translation = {
    Unknown: DocumentUnknown,
    InTheWay: DocumentInTheWay,
    Refused: DocumentRefused,
    LedgerUnavailable: StoreUnavailable,
    RagError: StoreUnavailable,
    OSError: StoreUnavailable,
}
"""What ingestion and the disk say, as the bot's own errors."""


@dataclass(frozen=True, slots=True)
class Shelves:
    """What is indexed and how it gets there; use ``open`` while the server runs."""

    documents: ToldDocuments
    reindexing: ToldReindex
    library: Library

    async def open(self, _: web.Application) -> AsyncIterator[None]:
        """Resume what was being indexed, and stop it with the server."""
        async with open_library(self.library):
            yield


def shelves_of(settings: Settings, parts: Parts) -> Shelves:
    """Join them; nothing is started."""
    library = library_of(
        parts.index,
        tenant=settings.tenant,
        data_dir=settings.data_dir,
        largest=upload_bounds(settings.max_upload_mb).bytes,
    )
    return Shelves(ToldDocuments(library, REFUSALS), ToldReindex(library.runs, REFUSALS), library)

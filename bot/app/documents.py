"""Connect ingestion: its settings, the document library, the sample company, the PDF reader.

The library resumes interrupted runs and follows its schedule while the server runs. The sample
company is indexed for newcomers, and removed once other pages are indexed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web
from pydantic_settings import BaseSettings

from bot.answering.attachments import AttachmentReader, NotText
from bot.app.components import Components
from bot.chat.documents import Documents, NextRuns, Reindex, translated_service, with_bot_errors
from bot.domain.errors import SettingInvalid
from bot.domain.messages import Platform
from bot.domain.ports import Channel, Fetches
from bot.domain.settings import Settings
from bot.store.question_files import KEPT_HERE
from bot.web.forms import upload_limits
from ingestion import config as ingestion_config
from ingestion.assembly import cadence_of, library_of, open_library, scheduler_of
from ingestion.config import Settings as IngestionSettings
from ingestion.documents.converter_process import text_of_pdf
from ingestion.errors import PageUnreadable
from ingestion.errors import SettingInvalid as IngestionSettingInvalid
from ingestion.library import Library
from ingestion.records.ledger import Records, records_of
from ingestion.runs.background import OnRemovalRefused
from ingestion.runs.schedule import Scheduler
from ingestion.runs.source_registry import open_wiki_sources, remember_folder
from ingestion.sync.report import progress_on, report_lines
from ingestion.sync.sync import Folder, sync_folder
from rag.types import ANSWERS_SPACE

if TYPE_CHECKING:
    # What is not configured is not imported.
    from ingestion.confluence.source import ConfluenceSources

ALL_SETTINGS: tuple[type[BaseSettings], ...] = (Settings, ingestion_config.Settings)
"""The settings classes; for a setting in both, the server's description is shown."""


def load_ingestion_settings(
    env_file: Path = ingestion_config.ENV_FILE,
) -> ingestion_config.Settings:
    """Load ingestion's settings. Raises SettingInvalid: one line per wrong value, with the cure."""
    try:
        return ingestion_config.load_settings(env_file)
    except IngestionSettingInvalid as error:
        raise SettingInvalid(str(error)) from error


@dataclass(frozen=True, slots=True)
class DocumentServices:
    """The document library, its runs and schedule; use ``open`` while the server runs."""

    library: Library
    scheduler: Scheduler | None
    records: Records
    wiki: ConfluenceSources | None

    @property
    def documents(self) -> Documents:
        """The document library."""
        return translated_service(self.library)

    @property
    def reindexing(self) -> Reindex:
        """The index runs."""
        return translated_service(self.library.runs)

    @property
    def next_runs(self) -> NextRuns | None:
        """Returns the next scheduled runs; None without a scheduler."""
        return None if self.scheduler is None else with_bot_errors(self.scheduler.next_passes)

    async def open(self, _: web.Application, *, works: bool = True) -> AsyncIterator[None]:
        """Resume interrupted runs, start the schedule, and stop both with the server.

        A server that does not work runs only what somebody starts there.
        """
        try:
            async with open_library(self.library, self.scheduler, maintained=works):
                yield
        finally:
            if self.wiki is not None:
                await self.wiki.close()
            self.records.close()


def build_document_services(
    settings: Settings,
    parts: Components,
    ingestion: IngestionSettings | None = None,
    on_held_back: OnRemovalRefused | None = None,
) -> DocumentServices:
    """Build the document services; nothing is started. Without ``ingestion`` no wiki is read.

    ``on_held_back`` is called for runs that would have removed too many pages.

    Raises SettingInvalid.
    """
    records = records_of(settings, settings.database_url)
    try:
        wiki = None if ingestion is None else open_wiki_sources(ingestion)
    except IngestionSettingInvalid as error:
        raise SettingInvalid(str(error)) from error
    library = library_of(
        parts.index,
        tenant=settings.tenant,
        data_dir=settings.data_dir,
        largest=upload_limits(settings.max_upload_mb).bytes,
        records=records,
        wiki=wiki,
        on_held_back=on_held_back,
    )
    return DocumentServices(
        library,
        None if ingestion is None else scheduler_of(library, records, cadence_of(ingestion)),
        records,
        wiki,
    )


SAMPLE = Path(__file__).parents[2] / "infra" / "sample"
SAMPLE_SPACES = {"SAMPLE-IT": "it", "SAMPLE-HR": "hr"}


async def reindex_sample(settings: Settings, parts: Components) -> Sequence[str]:
    """Bring the sample company's pages up to date; remove them once there are others.

    An invented company's rules must not answer real colleagues.
    """
    if settings.embedding_model and parts.page_embedder is None:
        # Pages indexed without vectors would all have to be indexed again.
        return [f"The sample company is left as it is: {parts.embedder_trouble}"]
    indexed = set(await parts.index.spaces(settings.tenant))
    own = sorted(indexed - {*SAMPLE_SPACES, ANSWERS_SPACE})
    if own:
        return await _forget_sample(settings, parts, own)
    lines: list[str] = []
    for key, name in SAMPLE_SPACES.items():
        lines += await _sync_sample(settings, parts, Folder(SAMPLE / name, key))
    return [line for line in lines if line.startswith(("Space", "Failed", "Warning"))]


async def _sync_sample(settings: Settings, parts: Components, folder: Folder) -> Sequence[str]:
    begun = datetime.now(UTC)
    report = await sync_folder(
        folder,
        parts.index,
        parts.page_embedder,
        tenant=settings.tenant,
        data_dir=settings.data_dir,
        progress=progress_on(sys.stderr),
    )
    await remember_folder(records_of(settings, settings.database_url).ledger, folder, report, begun)
    return report_lines(report)


async def _forget_sample(
    settings: Settings, parts: Components, own: Sequence[str]
) -> Sequence[str]:
    removed = 0
    for space in SAMPLE_SPACES:
        pages = await parts.index.pages(settings.tenant, space)
        removed += await parts.index.delete_pages(settings.tenant, space, list(pages))
        await records_of(settings, settings.database_url).ledger.forget(space)
    gone = f" Its {removed} pages are removed." if removed else ""
    return [f"The sample company is left out, because {', '.join(own)} is indexed.{gone}"]


_PDF_READERS = 2


class SubprocessPdfReader:
    """Extracts the text of PDFs in subprocesses, a few at once."""

    def __init__(self, at_once: int = _PDF_READERS) -> None:
        self._room = asyncio.Semaphore(at_once)

    async def text(self, content: bytes) -> str:
        async with self._room:
            try:
                return await text_of_pdf(content)
            except PageUnreadable as error:
                raise NotText(str(error)) from error


def build_attachments(channels: Sequence[Channel], kept: Fetches) -> AttachmentReader:
    """Build the reader of attached files; nothing is started.

    ``kept`` hands out those that the record keeps, which came by the web chat.
    """
    fetching: dict[Platform, Fetches] = dict.fromkeys(KEPT_HERE, kept)
    fetching |= {each.platform: each for each in channels if isinstance(each, Fetches)}
    return AttachmentReader(fetching, SubprocessPdfReader().text)

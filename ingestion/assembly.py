"""Assemble a server's library and its schedule from an index, an embedder and a data directory."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from ingestion.config import Settings
from ingestion.errors import IngestionError
from ingestion.library import Library, ListedIndex
from ingestion.records.assembly import Records, records_at
from ingestion.runs.background import OnRemovalRefused, Runs, SyncSpace
from ingestion.runs.schedule import Cadence, Scheduler
from ingestion.runs.source_registry import KnownSources, Sources
from ingestion.runs.worker_pool import WorkerPool
from ingestion.sources.folder import LARGEST_FILE
from ingestion.sources.uploads import Uploads
from rag.errors import RagError

log = structlog.get_logger(__name__)

MAINTENANCE_SECONDS = 10.0
"""So often it is looked what is due, and whether another process died over its work."""


def library_of(
    index: ListedIndex,
    *,
    tenant: str,
    data_dir: Path,
    largest: int = LARGEST_FILE,
    work: SyncSpace | None = None,
    records: Records | None = None,
    wiki: Sources | None = None,
    on_held_back: OnRemovalRefused | None = None,
) -> Library:
    """Return the library over an index; nothing is read or begun yet.

    ``work`` takes the place of the processes that bring spaces up to date. ``records`` are the
    file in the data directory unless given. ``wiki`` fills the spaces that it has.
    """
    largest = max(largest, LARGEST_FILE)
    kept = records or records_at(data_dir, tenant)
    uploads = Uploads(data_dir, tenant, largest)
    sources = KnownSources(uploads, kept.ledger, wiki)
    workers = WorkerPool(data_dir, tenant, largest, kept.leases)
    return Library(
        index=index,
        tenant=tenant,
        uploads=uploads,
        sources=sources,
        runs=Runs(kept.ledger, sources, work or workers, on_held_back),
        ledger=kept.ledger,
        workers=workers,
    )


def cadence_of(settings: Settings) -> Cadence:
    """Return how often a wiki is read; never without one."""
    if not settings.confluence_configured:
        return Cadence(0, 0)
    changes, whole = settings.confluence_sync_minutes, settings.confluence_reconcile_minutes
    return Cadence(changes * 60, whole * 60)


def scheduler_of(library: Library, records: Records, cadence: Cadence) -> Scheduler:
    """Return what begins the passes over a wiki's spaces."""
    return Scheduler(library.runs, records, library.sources.of_the_wiki, cadence)


@asynccontextmanager
async def open_library(library: Library, scheduler: Scheduler | None = None) -> AsyncIterator[None]:
    """Mend what was interrupted, and begin what is due, in the background.

    At the end leave the rest to the next start.
    """
    await _repair(library)
    looking = asyncio.create_task(_maintain(library, scheduler))
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.wait([looking])
        await library.runs.stop()
        await library.workers.close()


async def _repair(library: Library) -> None:
    try:
        await asyncio.to_thread(library.uploads.tidy)
        await library.runs.resume(await library.to_mend())
    except (IngestionError, RagError, OSError) as error:
        # Questions can be answered all the same.
        log.error("documents.not_mended", why=str(error))  # noqa: TRY400 - its text says all


async def _maintain(library: Library, scheduler: Scheduler | None) -> None:
    """Resume what dead processes left, and begin what is due.

    A process on another host shows by its silence alone that it died.
    """
    said = ""
    while True:
        # Replicas do not march in step.
        await asyncio.sleep(MAINTENANCE_SECONDS * random.uniform(0.9, 1.1))  # noqa: S311 - not secret
        try:
            await library.runs.resume(())
            if scheduler is not None:
                await scheduler.begin_due()
        except Exception as error:  # noqa: BLE001 - the next round tries again
            if str(error) != said:
                log.error("documents.not_looked_after", why=str(error), kind=type(error).__name__)  # noqa: TRY400 - as above
            said = str(error)
        else:
            said = ""

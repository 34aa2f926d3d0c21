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
from ingestion.folder import LARGEST_FILE
from ingestion.library import Library
from ingestion.records.ledger import Records, records_at
from ingestion.runs.background import OnRemovalRefused, Runs, SyncSpace
from ingestion.runs.schedule import Cadence, Scheduler
from ingestion.runs.source_registry import KnownSources, Sources
from ingestion.runs.worker_pool import WorkerPool
from ingestion.uploads import Uploads
from rag.errors import RagError
from rag.ports import SearchIndex

log = structlog.get_logger(__name__)

MAINTENANCE_SECONDS = 10.0
"""Interval at which due passes and the work of dead processes are checked for."""


def library_of(
    index: SearchIndex,
    *,
    tenant: str,
    data_dir: Path,
    largest: int = LARGEST_FILE,
    work: SyncSpace | None = None,
    records: Records | None = None,
    wiki: Sources | None = None,
    on_held_back: OnRemovalRefused | None = None,
) -> Library:
    """Return the library over an index; reads and starts nothing yet.

    ``work`` replaces the worker processes that sync spaces. ``records`` default to the file in the
    data directory. ``wiki`` is the source of the spaces that it lists.
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
    """Return the intervals between passes over the wiki; 0 (never) without a wiki."""
    if not settings.confluence_configured:
        return Cadence(0, 0)
    changes, whole = settings.confluence_sync_minutes, settings.confluence_reconcile_minutes
    return Cadence(changes * 60, whole * 60)


def scheduler_of(library: Library, records: Records, cadence: Cadence) -> Scheduler:
    """Return the scheduler of the passes over a wiki's spaces."""
    return Scheduler(library.runs, records, library.sources.wiki_spaces, cadence)


@asynccontextmanager
async def open_library(
    library: Library, scheduler: Scheduler | None = None, *, maintained: bool = True
) -> AsyncIterator[None]:
    """Resume interrupted uploads and runs, and start due passes in the background.

    Unless it is ``maintained`` here, other processes do so. On exit, unfinished work is left to the
    next start.
    """
    looking: list[asyncio.Task[None]] = []
    if maintained:
        await _repair(library)
        looking.append(asyncio.create_task(_maintain(library, scheduler)))
    try:
        yield
    finally:
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
        await library.runs.stop()
        await library.workers.close()


async def _repair(library: Library) -> None:
    try:
        await asyncio.to_thread(library.uploads.tidy)
        await library.runs.resume(await library.to_mend())
    except (IngestionError, RagError, OSError) as error:
        # Questions can still be answered, so a failure here is only logged.
        log.error("documents.not_mended", why=str(error))  # noqa: TRY400 - its text says all


async def _maintain(library: Library, scheduler: Scheduler | None) -> None:
    """Resume the runs of dead processes and start due passes, forever.

    The death of a process on another host is detected only by its silence.
    """
    said = ""
    while True:
        # Random jitter, so that replicas do not run in lockstep.
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

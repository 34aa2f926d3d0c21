"""Joins the library of a server from an index, an embedder and a data directory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from ingestion.errors import IngestionError
from ingestion.folder import LARGEST_FILE
from ingestion.ledger import SILENT_SECONDS, Ledger
from ingestion.library import Library, ListedIndex
from ingestion.runs import Runs, SyncSpace
from ingestion.sources import KnownSources
from ingestion.uploads import Uploads
from ingestion.worker import in_a_process
from rag.errors import RagError

log = structlog.get_logger(__name__)


def library_of(
    index: ListedIndex,
    *,
    tenant: str,
    data_dir: Path,
    largest: int = LARGEST_FILE,
    work: SyncSpace | None = None,
) -> Library:
    """Return the library over an index; nothing is read or begun yet.

    ``work`` takes the place of the processes that bring spaces up to date.
    """
    largest = max(largest, LARGEST_FILE)
    ledger = Ledger(data_dir, tenant)
    uploads = Uploads(data_dir, tenant, largest)
    sources = KnownSources(uploads, ledger)

    return Library(
        index=index,
        tenant=tenant,
        uploads=uploads,
        sources=sources,
        runs=Runs(ledger, sources, work or in_a_process(data_dir, tenant, largest)),
        ledger=ledger,
    )


@asynccontextmanager
async def open_library(library: Library) -> AsyncIterator[None]:
    """Mend what was interrupted, in the background; at the end leave the rest to the next start."""
    await _mend(library)
    later = asyncio.create_task(_mend_later(library))
    try:
        yield
    finally:
        later.cancel()
        await asyncio.wait([later])
        await library.runs.stop()


async def _mend(library: Library) -> None:
    try:
        await asyncio.to_thread(library.uploads.tidy)
        await library.runs.resume(await library.to_mend())
    except (IngestionError, RagError, OSError) as error:
        # Questions can be answered all the same.
        log.error("documents.not_mended", why=str(error))  # noqa: TRY400 - its text says all


async def _mend_later(library: Library) -> None:
    """Mend what was killed on a host of another name: its death shows by silence alone."""
    await asyncio.sleep(SILENT_SECONDS + 1)
    try:
        await library.runs.resume(())
    except (IngestionError, OSError) as error:
        log.error("documents.not_mended", why=str(error))  # noqa: TRY400 - its text says all

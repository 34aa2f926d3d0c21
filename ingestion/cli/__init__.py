"""The commands of ``python -m ingestion``, their exit codes, and what they open.

Each command returns the exit code (docs/ingestion.md).
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from ingestion.config import Settings
from ingestion.records.ledger import Records, records_of
from rag.factory import open_embedder, open_search_index
from rag.ports import Embedder, SearchIndex

FAILED = 1
"""Done, but something could not be read; or index or embedder failed on the way."""
REFUSED = 2
"""Wrong usage or setting, the mass-deletion limit, another run, or an unknown run or space."""
INTERRUPTED = 130


@contextmanager
def open_records(settings: Settings) -> Iterator[Records]:
    """Open the records that belong to the index."""
    records = records_of(settings, settings.database_url)
    try:
        yield records
    finally:
        records.close()


@asynccontextmanager
async def open_embedder_or_warn(settings: Settings) -> AsyncIterator[Embedder | None]:
    """Open the configured embedder, or warn that there is none."""
    async with open_embedder(settings) as (embedder, trouble):
        if trouble:
            print(f"Warning: {trouble}", file=sys.stderr)
        yield embedder


@asynccontextmanager
async def open_index(
    settings: Settings, embedder: Embedder | None, *, write: bool = False
) -> AsyncIterator[SearchIndex]:
    """Open the index; a missing index file reads as empty, unless ``write`` is set."""
    index = await open_search_index(settings, embedder, write=write)
    try:
        yield index
    finally:
        await index.close()

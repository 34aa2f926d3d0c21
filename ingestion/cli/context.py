"""Exit codes (docs/ingestion.md), and the records, embedder and index that commands open."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from ingestion.config import Settings
from ingestion.records.assembly import Records, records_of
from rag.factory import open_embedder, open_search_index
from rag.ports import Embedder, SearchIndex

FAILED = 1
"""Done, but something could not be read; or index or embedder failed on the way."""
REFUSED = 2
"""Wrong usage or setting, the brake against mass deletion, another run, no such thing."""
INTERRUPTED = 130


@contextmanager
def open_records(settings: Settings) -> Iterator[Records]:
    """Use the records that belong to the index."""
    records = records_of(settings)
    try:
        yield records
    finally:
        records.close()


@asynccontextmanager
async def open_embedder_or_warn(settings: Settings) -> AsyncIterator[Embedder | None]:
    """Open what embeds, or say that there is nothing."""
    async with open_embedder(settings) as (embedder, trouble):
        if trouble:
            print(f"Warning: {trouble}", file=sys.stderr)
        yield embedder


@asynccontextmanager
async def open_index(
    settings: Settings, embedder: Embedder | None, *, write: bool = False
) -> AsyncIterator[SearchIndex]:
    """Open the index; one file that is not there reads as empty, unless ``write``."""
    index = await open_search_index(settings, embedder, write=write)
    try:
        yield index
    finally:
        await index.close()

"""What commands open by the settings."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from ingestion.config import Settings
from ingestion.records.opening import Records, records_of
from rag.factory import open_embedder, open_search_index
from rag.ports import Embedder, SearchIndex


@contextmanager
def kept_records(settings: Settings) -> Iterator[Records]:
    """Use the records that belong to the index."""
    records = records_of(settings)
    try:
        yield records
    finally:
        records.close()


@asynccontextmanager
async def warned_embedder(settings: Settings) -> AsyncIterator[Embedder | None]:
    """Open what embeds, or say that there is nothing."""
    async with open_embedder(settings) as (embedder, trouble):
        if trouble:
            print(f"Warning: {trouble}", file=sys.stderr)
        yield embedder


@asynccontextmanager
async def opened_index(
    settings: Settings, embedder: Embedder | None, *, write: bool = False
) -> AsyncIterator[SearchIndex]:
    """Open the index; one file that is not there reads as empty, unless ``write``."""
    index = await open_search_index(settings, embedder, write=write)
    try:
        yield index
    finally:
        await index.close()

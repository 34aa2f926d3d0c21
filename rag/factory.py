"""Open the search index and the embedder that the settings select, for bot and ingestion.

Azure, onnxruntime and the model clients are imported only if the settings need them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag.config import SearchSettings
from rag.errors import ModelFilesInvalid
from rag.ports import Embedder, SearchIndex
from rag.types import Fingerprint

if TYPE_CHECKING:
    from rag.index.azure.index import Opening

INDEX_FILE = "index.sqlite"
_IN_MEMORY = Path(":memory:")


@asynccontextmanager
async def open_embedder(settings: SearchSettings) -> AsyncIterator[tuple[Embedder | None, str]]:
    """Open the configured embedding server, or the installed embedder if none is set.

    Yield the embedder and "", or None and the reason; search then uses keywords alone.

    Raises:
        ModelUnavailable: EMBEDDING_MODEL is set but can't be used. It raises instead of yielding
            None because pages indexed without vectors would have to be indexed again.
    """
    model = settings.embedding_model
    opened = _open_remote_embedder(settings, model) if model else open_installed_embedder(settings)
    async with opened as embedder:
        yield embedder


async def open_search_index(
    settings: SearchSettings,
    embedder: Embedder | None,
    *,
    write: bool,
    azure: Opening | None = None,
) -> SearchIndex:
    """Open Azure AI Search if it is configured, else one SQLite file; the caller closes it.

    Args:
        settings: Select the index.
        embedder: The embedder that the index must have been built with; None for keyword search
            alone.
        write: Create a missing index. If False, a missing file is not created and reads as
            empty; a missing Azure index is unavailable until it exists.
        azure: Options of Azure AI Search beyond the settings.

    Raises:
        IndexMismatch: The index was built with another embedder or schema.
        IndexUnavailable: The index cannot be reached or read.
    """
    if settings.azure_search_configured:
        return await _open_azure_index(settings, embedder, create=write, azure=azure)
    from rag.index.embedded.index import fingerprint_of, open_index

    path = settings.data_dir / INDEX_FILE
    if write:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    elif not path.exists():
        path = _IN_MEMORY
    return await open_index(path, fingerprint_of(embedder) if embedder else None)


async def _open_azure_index(
    settings: SearchSettings,
    embedder: Embedder | None,
    *,
    create: bool,
    azure: Opening | None,
) -> SearchIndex:
    from rag.index.azure.index import Opening, open_azure_index
    from rag.index.azure.schema import SCHEMA

    expected = Fingerprint(embedder.name, embedder.dimensions, SCHEMA) if embedder else None
    return await open_azure_index(
        settings, expected, create=create, opening=azure or Opening(may_be_absent=True)
    )


@asynccontextmanager
async def open_installed_embedder(
    settings: SearchSettings,
) -> AsyncIterator[tuple[Embedder | None, str]]:
    """Open the installed embedder, which needs no network; yield as ``open_embedder`` does."""
    from rag.models.local_embedder import open_local_embedder

    try:
        embedder = await open_local_embedder(cache=settings.model_cache)
    except ModelFilesInvalid as error:
        yield None, str(error)
        return
    try:
        yield embedder, ""
    finally:
        embedder.close()


@asynccontextmanager
async def _open_remote_embedder(
    settings: SearchSettings, model: str
) -> AsyncIterator[tuple[Embedder | None, str]]:
    from rag.models.openai_embedder import embedder_settings, open_openai_embedder

    embedder = await open_openai_embedder(embedder_settings(settings, model))
    try:
        yield embedder, ""
    finally:
        await embedder.close()

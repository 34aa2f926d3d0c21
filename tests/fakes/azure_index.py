"""Open our index over the fake Azure AI Search."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import SecretStr

from rag.config import SearchSettings
from rag.index.azure.index import AzureIndex, Opening, open_azure_index
from rag.index.azure.schema import SCHEMA
from rag.ports import Embedder
from rag.retrying import RetryPolicy
from rag.types import Fingerprint
from tests.fakes.passages import EMBEDDER
from tests.fakes.search_service.service import SearchService

INDEX_NAME = "confluence-chunks"
QUICK_OPENING = Opening(
    policy=RetryPolicy(
        attempts=4, first_wait_seconds=0.001, longest_wait_seconds=0.01, jitter_seconds=0.001
    ),
    settled_seconds=0.0,
)


def expected_of(embedder: Embedder) -> Fingerprint:
    return Fingerprint(embedder.name, embedder.dimensions, SCHEMA)


def settings_of(service: SearchService, key: str | None = None, **parts: object) -> SearchSettings:
    """Return settings of the service, by its admin key unless told otherwise."""
    values = {
        "azure_search_endpoint": service.url,
        "azure_search_key": SecretStr(key or service.access.admin_key),
        **parts,
    }
    return SearchSettings.model_validate(values)


@asynccontextmanager
async def open_test_index(
    service: SearchService,
    embedder: Embedder | None = EMBEDDER,
    *,
    create: bool = True,
    key: str | None = None,
    opening: Opening = QUICK_OPENING,
    **parts: object,
) -> AsyncIterator[AzureIndex]:
    """Open the index of a service; ``parts`` are settings."""
    index = await open_azure_index(
        settings_of(service, key, **parts),
        expected_of(embedder) if embedder else None,
        create=create,
        opening=opening,
    )
    try:
        yield index
    finally:
        await index.close()

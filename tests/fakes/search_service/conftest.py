"""The fake service, the vendor's own clients of it, and an index of a wiki with documents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import (
    HnswAlgorithmConfiguration,
    HnswParameters,
    SearchField,
    SearchIndex,
    SemanticConfiguration,
    SemanticField,
    SemanticPrioritizedFields,
    SemanticSearch,
    VectorSearch,
    VectorSearchProfile,
)

from tests.fakes.search_service.service import SearchService

STRING, STRINGS = "Edm.String", "Collection(Edm.String)"


def plain(name: str, kind: str = STRING, **flags: bool | str) -> SearchField:
    """Return a field that can do nothing but what is said."""
    off = dict.fromkeys(("searchable", "filterable", "sortable", "facetable"), False)
    return SearchField(name=name, type=kind, **{**off, **flags})


def fields() -> list[SearchField]:
    return [
        plain("id", key=True, filterable=True, sortable=True),
        plain("title", searchable=True, sortable=True, analyzer_name="en.lucene"),
        plain("content", searchable=True, analyzer_name="en.lucene"),
        plain("space", filterable=True, facetable=True),
        plain("labels", STRINGS, filterable=True, facetable=True),
        plain("readers", STRINGS, filterable=True, hidden=True),
        plain("version", "Edm.Int32", filterable=True, sortable=True),
        plain("updated", "Edm.DateTimeOffset", filterable=True, sortable=True),
        plain("open", "Edm.Boolean", filterable=True),
        SearchField(
            name="embedding",
            type="Collection(Edm.Single)",
            searchable=True,
            hidden=True,
            stored=False,
            vector_search_dimensions=3,
            vector_search_profile_name="cosine",
        ),
    ]


def index_of(name: str) -> SearchIndex:
    graph = HnswAlgorithmConfiguration(name="graph", parameters=HnswParameters(metric="cosine"))
    read = SemanticPrioritizedFields(
        title_field=SemanticField(field_name="title"),
        content_fields=[SemanticField(field_name="content")],
    )
    return SearchIndex(
        name=name,
        fields=fields(),
        vector_search=VectorSearch(
            profiles=[VectorSearchProfile(name="cosine", algorithm_configuration_name="graph")],
            algorithms=[graph],
        ),
        semantic_search=SemanticSearch(
            configurations=[SemanticConfiguration(name="sem", prioritized_fields=read)]
        ),
    )


def page(key: str, content: str = "", **values: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"id": key, "content": content, **values}


@pytest.fixture
async def service() -> AsyncIterator[SearchService]:
    async with SearchService().serving() as running:
        yield running


@pytest.fixture
async def admin(service: SearchService) -> AsyncIterator[SearchIndexClient]:
    key = AzureKeyCredential(service.access.admin_key)
    async with SearchIndexClient(service.url, key) as client:
        yield client


@pytest.fixture
async def client(service: SearchService, admin: SearchIndexClient) -> AsyncIterator[SearchClient]:
    """A client of the index ``kb``, which exists and is empty."""
    await admin.create_or_update_index(index_of("kb"))
    key = AzureKeyCredential(service.access.admin_key)
    async with SearchClient(service.url, "kb", key) as opened:
        yield opened

"""An index as one would make it for a wiki, and documents for it, by the vendor's own models."""

from __future__ import annotations

from typing import Any

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

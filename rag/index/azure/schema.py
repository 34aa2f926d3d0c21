"""The one definition of the index: what every document holds, and how it is searched.

One index holds chunks, one document of each page (what ``pages`` and ``Lists`` tell) and one with
facts of the index; ``kind`` tells them apart.
"""

from __future__ import annotations

from typing import Literal

from azure.search.documents.indexes.models import (
    BinaryQuantizationCompression,
    HnswAlgorithmConfiguration,
    HnswParameters,
    RescoringOptions,
    ScalarQuantizationCompression,
    SearchableField,
    SearchField,
    SearchIndex,
    SemanticConfiguration,
    SemanticField,
    SemanticPrioritizedFields,
    SemanticSearch,
    SimpleField,
    VectorSearch,
    VectorSearchCompression,
    VectorSearchProfile,
)

from rag.index.azure import permissions

SCHEMA = 1
"""Counts up whenever a field, or the text that is embedded, changes its meaning."""

Quantization = Literal["none", "scalar", "binary"]

EMBEDDING = "embedding"
SEMANTIC = "chunks"
SEARCHED = ("page_title", "section_title", "breadcrumb", "content")

_ANALYZER = "en.microsoft"
_PROFILE, _ALGORITHM, _COMPRESSION = "vectors", "hnsw", "compressed"
_STRING, _STRINGS = "Edm.String", "Collection(Edm.String)"
_OVERSAMPLING = 4.0


def definition(name: str, *, dimensions: int, quantization: Quantization) -> SearchIndex:
    """Return the index as it is to be.

    Args:
        name: Its name.
        dimensions: Length of a vector; 0 for an index without vectors, which gets them later.
        quantization: How vectors are compressed; the originals are kept to score the best again.
    """
    return SearchIndex(
        name=name,
        fields=[*_told(), *_looked_up(), *_permissions(), *_vectors(dimensions)],
        vector_search=_vector_search(quantization) if dimensions else None,
        semantic_search=_semantic_search(),
    )


def _told() -> list[SearchField]:
    """What is read: searched as text, shown, or both."""
    return [
        *(_text(name) for name in SEARCHED if name != "breadcrumb"),
        SearchableField(name="breadcrumb", collection=True, analyzer_name=_ANALYZER),
        SearchableField(
            name="labels", collection=True, analyzer_name="keyword", filterable=True, facetable=True
        ),
        SimpleField(name="version", type=_STRING),
        SimpleField(name="readers", type=_STRING),
        SimpleField(name="chunks", type="Edm.Int32"),
        SimpleField(name="embedded", type="Edm.Boolean"),
    ]


def _looked_up() -> list[SearchField]:
    """What is filtered by and ordered by."""
    return [
        SimpleField(name="id", type=_STRING, key=True, filterable=True, sortable=True),
        *(_fact(name, facetable=True) for name in ("kind", "tenant", "space", "source_type")),
        *(_fact(name) for name in ("page_id", "url", "source_id", "updated_by")),
        *(_fact(name, "Edm.Int32") for name in ("ordinal", "document_page")),
        _fact("updated_at", "Edm.DateTimeOffset"),
    ]


def _permissions() -> list[SearchField]:
    return [
        SimpleField(name=name, type=_STRINGS, filterable=True, hidden=True)
        for name in permissions.FIELDS
    ]


def _text(name: str) -> SearchField:
    return SearchableField(name=name, analyzer_name=_ANALYZER)


def _fact(name: str, kind: str = _STRING, *, facetable: bool = False) -> SearchField:
    return SimpleField(name=name, type=kind, filterable=True, sortable=True, facetable=facetable)


def _vectors(dimensions: int) -> list[SearchField]:
    """Return the field of vectors: never shown, but stored.

    Without a stored vector the service forgets it when other fields are merged, and changed
    permissions would need new embeddings.
    """
    if not dimensions:
        return []
    field = SearchField(
        name=EMBEDDING,
        type="Collection(Edm.Single)",
        searchable=True,
        hidden=True,
        stored=True,
        vector_search_dimensions=dimensions,
        vector_search_profile_name=_PROFILE,
    )
    return [field]


def _vector_search(quantization: Quantization) -> VectorSearch:
    compressions = _compressions(quantization)
    return VectorSearch(
        profiles=[
            VectorSearchProfile(
                name=_PROFILE,
                algorithm_configuration_name=_ALGORITHM,
                compression_name=_COMPRESSION if compressions else None,
            )
        ],
        algorithms=[
            HnswAlgorithmConfiguration(name=_ALGORITHM, parameters=HnswParameters(metric="cosine"))
        ],
        compressions=compressions or None,
    )


def _compressions(quantization: Quantization) -> list[VectorSearchCompression]:
    rescoring = RescoringOptions(
        enable_rescoring=True,
        default_oversampling=_OVERSAMPLING,
        rescore_storage_method="preserveOriginals",
    )
    if quantization == "scalar":
        return [
            ScalarQuantizationCompression(
                compression_name=_COMPRESSION, rescoring_options=rescoring
            )
        ]
    if quantization == "binary":
        return [
            BinaryQuantizationCompression(
                compression_name=_COMPRESSION, rescoring_options=rescoring
            )
        ]
    return []


def _semantic_search() -> SemanticSearch:
    fields = SemanticPrioritizedFields(
        title_field=SemanticField(field_name="page_title"),
        content_fields=[SemanticField(field_name="content")],
        keywords_fields=[
            SemanticField(field_name=name) for name in ("section_title", "breadcrumb", "labels")
        ],
    )
    return SemanticSearch(
        configurations=[SemanticConfiguration(name=SEMANTIC, prioritized_fields=fields)]
    )

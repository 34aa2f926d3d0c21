"""Define the index: its fields, how they are searched, and its permission filters; pure.

One index holds chunks, one document per page (for ``pages`` and the lists of pages) and one with
the facts of the index; ``kind`` distinguishes them.

Permissions fail closed. The service has no sets of sets: a document's sets of readers are stored in
as many fields, all of which must match. An unused field holds a value that every query contains;
nobody is a value that no query contains. The first field is always used, so the filter on it does
not contain ``EVERY``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal
from urllib.parse import quote

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

from rag.types import Principal, Readers, minimal_readers

READER_FIELDS = tuple(f"readers_{number}" for number in range(1, 6))

EVERY = "*"
NOBODY = "!"
_EMPTY = "%"
"""No principal is encoded as one of these three values or as the delimiter."""

_DELIMITER = "|"
_USER = "user:"

Sets = list[frozenset[Principal]]


def reader_fields(readers: Readers) -> Mapping[str, list[str]]:
    """Return the permission fields of a document, by name."""
    kept = _fitting(readers)
    if not kept:
        return {field: [NOBODY] for field in READER_FIELDS}
    values = [sorted(map(_escaped, names)) for names in kept]
    values += [[EVERY]] * (len(READER_FIELDS) - len(kept))
    return dict(zip(READER_FIELDS, values, strict=True))


def readable_by(principals: Collection[Principal]) -> str:
    """Return the filter for documents of which each set of readers contains a principal."""
    names = sorted(map(_escaped, principals))
    first, *others = READER_FIELDS
    return " and ".join(
        [_any_of(first, names), *(_any_of(field, [*names, EVERY]) for field in others)]
    )


def _any_of(field: str, names: Iterable[str]) -> str:
    return f"{field}/any(p: search.in(p, '{_DELIMITER.join(names)}', '{_DELIMITER}'))"


def _fitting(readers: Readers) -> Sets:
    """Return sets that fit into the fields and admit nobody else; empty for nobody.

    Where they are too many, sets that hold only people are replaced by their intersection. That may
    exclude a person who is in each under another name, and admits nobody else.
    """
    kept = _least(readers)
    if len(kept) > len(READER_FIELDS):
        people = [names for names in kept if all(name.startswith(_USER) for name in names)]
        others = [names for names in kept if names not in people]
        kept = _least([*others, frozenset.intersection(*people)]) if people else others
    return kept if len(kept) <= len(READER_FIELDS) else []


def _least(readers: Iterable[frozenset[Principal]]) -> Sets:
    """Return minimal sets in a fixed order: none that a smaller one implies; [] if one is empty."""
    kept = minimal_readers(readers)
    return kept if all(kept) else []


def _escaped(principal: Principal) -> str:
    """Return the principal with all characters escaped that filters or delimiters use."""
    return quote(principal, safe=":@", errors="surrogatepass") or _EMPTY


SCHEMA = 1
"""Incremented whenever a field, or the text that is embedded, changes its meaning."""

Quantization = Literal["none", "scalar", "binary"]

EMBEDDING = "embedding"
SEMANTIC = "chunks"
SEARCHED = ("page_title", "section_title", "breadcrumb", "content")

_ANALYZER = "en.microsoft"
_PROFILE, _ALGORITHM, _COMPRESSION = "vectors", "hnsw", "compressed"
_STRING, _STRINGS = "Edm.String", "Collection(Edm.String)"
_OVERSAMPLING = 4.0


def index_definition(name: str, *, dimensions: int, quantization: Quantization) -> SearchIndex:
    """Return the index definition.

    Args:
        name: Its name.
        dimensions: Length of a vector; 0 for an index without vectors, which are added later.
        quantization: How vectors are compressed; the originals are kept to rescore the best.
    """
    return SearchIndex(
        name=name,
        fields=[*_text_fields(), *_filter_fields(), *_permission_fields(), *_vectors(dimensions)],
        vector_search=_vector_search(quantization) if dimensions else None,
        semantic_search=_semantic_search(),
    )


def _text_fields() -> list[SearchField]:
    """Return the text fields: searched, returned, or both."""
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


def _filter_fields() -> list[SearchField]:
    """Return the fields used for filtering and ordering."""
    return [
        SimpleField(name="id", type=_STRING, key=True, filterable=True, sortable=True),
        *(_fact(name, facetable=True) for name in ("kind", "tenant", "space", "source_type")),
        *(_fact(name) for name in ("page_id", "url", "source_id", "updated_by")),
        *(_fact(name, "Edm.Int32") for name in ("ordinal", "document_page")),
        _fact("updated_at", "Edm.DateTimeOffset"),
    ]


def _permission_fields() -> list[SearchField]:
    return [
        SimpleField(name=name, type=_STRINGS, filterable=True, hidden=True)
        for name in READER_FIELDS
    ]


def _text(name: str) -> SearchField:
    return SearchableField(name=name, analyzer_name=_ANALYZER)


def _fact(name: str, kind: str = _STRING, *, facetable: bool = False) -> SearchField:
    return SimpleField(name=name, type=kind, filterable=True, sortable=True, facetable=facetable)


def _vectors(dimensions: int) -> list[SearchField]:
    """Return the vector field: never returned, but stored.

    Without a stored vector the service drops it when other fields are merged, and changed
    permissions would require new embeddings.
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

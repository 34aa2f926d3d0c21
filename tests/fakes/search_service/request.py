"""Search requests: read, and refused as the service refuses them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tests.fakes.search_service.protocol import Json, bad_parameter, not_simulated
from tests.fakes.search_service.schema import Field, Schema

PAGE = 50
LARGEST_PAGE = 1000
_FARTHEST = 100_000
_MOST_VECTOR_FIELDS = 10
_KNOWN = frozenset(
    """
    search count facets filter orderby queryType semanticQuery searchFields searchMode
    semanticConfiguration select top skip sessionId vectorQueries vectorFilterMode
    semanticErrorHandling semanticMaxWaitInMilliseconds debug minimumCoverage scoringStatistics
    """.split()
)
_NOT_HERE = frozenset({"answers", "captions", "highlight", "scoringProfile", "scoringParameters"})
_PREVIEW = frozenset(
    {"queryRewrites", "queryLanguage", "speller", "hybridSearch", "semanticFields"}
)
_VECTOR_KNOWN = frozenset({"kind", "vector", "k", "fields", "exhaustive", "oversampling"})
_VECTOR_PREVIEW = frozenset({"threshold", "filterOverride", "perDocumentVectorLimit"})


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """One vector, looked for in each of ``fields``."""

    vector: list[float]
    k: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search as asked; ``body`` is what was sent, for the parameters of the next page."""

    body: Json
    search: str | None
    fields: tuple[Field, ...]
    filter: str | None
    vectors: tuple[VectorQuery, ...]
    orderby: tuple[str, ...]
    select: tuple[str, ...]
    facets: tuple[str, ...]
    top: int | None
    skip: int
    count: bool
    debug: bool
    semantic: bool
    full: bool

    @property
    def page(self) -> int:
        """Return how many documents one reply may hold."""
        return PAGE if self.top is None else min(self.top, LARGEST_PAGE)


def read_request(body: Json, schema: Schema) -> SearchRequest:
    """Return a request that can be answered; raise Refused for any other."""
    given = {name: value for name, value in body.items() if value is not None}
    _check_known(given)
    _check_only("searchMode", given, "any")
    _check_only("vectorFilterMode", given, "preFilter")
    return SearchRequest(
        body=given,
        search=given.get("search"),
        fields=_search_fields(_listed(given.get("searchFields")), schema),
        filter=given.get("filter") or None,
        vectors=tuple(_vector(each, schema) for each in given.get("vectorQueries", [])),
        orderby=_listed(given.get("orderby")),
        select=_selected(_listed(given.get("select")), schema),
        facets=tuple(given.get("facets", [])),
        top=_whole("top", given.get("top"), math.inf),
        skip=_whole("skip", given.get("skip", 0), _FARTHEST) or 0,
        count=bool(given.get("count", False)),
        debug=_debug(given.get("debug", "disabled")),
        semantic=_semantic(given),
        full=given.get("queryType") == "full",
    )


def _check_known(given: Json) -> None:
    for name in given:
        if name in _NOT_HERE:
            raise not_simulated(name)
        if name in _PREVIEW:
            raise bad_parameter(f"The parameter {name!r} needs a preview api-version.")
        if name not in _KNOWN:
            raise bad_parameter(f"The property {name!r} does not exist on type 'searchRequest'.")


def _listed(given: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (given or "").split(",") if part.strip())


def _check_only(name: str, given: Json, known: str) -> None:
    if given.get(name, known) != known:
        raise not_simulated(f"{name} {given[name]!r}")


def _search_fields(names: tuple[str, ...], schema: Schema) -> tuple[Field, ...]:
    if not names:
        return tuple(field for field in schema.fields.values() if field.is_text)
    for name in names:
        if name not in schema.fields or not schema.fields[name].is_text:
            raise bad_parameter(f"The field {name!r} in the search field list is not searchable.")
    return tuple(schema.fields[name] for name in names)


def _selected(names: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
    shown = tuple(field.name for field in schema.fields.values() if field.retrievable)
    if not names or names == ("*",):
        return shown
    return check_select(names, schema)


def check_select(names: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
    """Refuse to show what is not there, or is never shown."""
    for name in names:
        if name not in schema.fields:
            raise bad_parameter(f"Could not find a property named {name!r} on 'search.document'.")
        if not schema.fields[name].retrievable:
            raise bad_parameter(f"{name!r} is not a retrievable field.", detail="NonRetrievable")
    return names


def _whole(name: str, given: object, most: float) -> int | None:
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= most:
        raise bad_parameter(f"Value {given!r} of parameter {name!r} must be 0 to {most}.")
    return given


def _debug(given: str) -> bool:
    modes = {part.strip() for part in re.split(r"[|,]", given)}
    if not modes <= {"disabled", "semantic", "vector", "queryRewrites", "innerHits", "all"}:
        raise bad_parameter(f"{given!r} is no debug mode.")
    if modes & {"semantic", "queryRewrites", "innerHits"}:
        raise not_simulated(f"debug {given!r}")
    return bool(modes & {"vector", "all"})


def _semantic(given: Json) -> bool:
    kind = given.get("queryType", "simple")
    if kind not in {"simple", "full", "semantic"}:
        raise bad_parameter(f"{kind!r} is no queryType.")
    if kind == "semantic" and given.get("orderby"):
        raise bad_parameter("orderby is not supported with queryType 'semantic'.")
    if kind != "semantic" and not given.get("semanticQuery") and "semanticConfiguration" in given:
        raise bad_parameter("'semanticConfiguration' needs queryType 'semantic'.")
    return kind == "semantic" or bool(given.get("semanticQuery"))


def _vector(given: Json, schema: Schema) -> VectorQuery:
    query = {name: value for name, value in given.items() if value is not None}
    _check_vector_known(query)
    fields = _listed(query.get("fields"))
    if not 1 <= len(fields) <= _MOST_VECTOR_FIELDS:
        raise bad_parameter(f"A vector query has 1 to {_MOST_VECTOR_FIELDS} fields.")
    vector = query.get("vector")
    for name in fields:
        _check_dimensions(schema.fields.get(name), name, vector)
    return VectorQuery(list(vector or ()), _k(query.get("k", PAGE)), fields)


def _check_vector_known(query: Json) -> None:
    if query.get("kind") != "vector":
        raise not_simulated(f"vector queries of kind {query.get('kind')!r}")
    for name in query:
        if name in _VECTOR_PREVIEW:
            raise bad_parameter(f"The vector query's {name!r} needs a preview api-version.")
        if name not in _VECTOR_KNOWN:
            raise bad_parameter(f"The property {name!r} does not exist on type 'vectorQuery'.")


def _check_dimensions(field: Field | None, name: str, vector: object) -> None:
    if field is None or not field.is_vector:
        raise bad_parameter(f"Unknown field {name!r} in vector field list.")
    length = len(vector) if isinstance(vector, list) else 0
    if length != field.dimensions:
        raise bad_parameter(
            f"The vector query for the field {name!r} expects a length of {field.dimensions}. "
            f"However, the provided vector has a length of {length}.",
            detail="InvalidVectorQuery",
        )


def _k(given: object) -> int:
    if not isinstance(given, int) or given < 1:
        raise bad_parameter(f"k must be 1 or more, not {given!r}.")
    return given

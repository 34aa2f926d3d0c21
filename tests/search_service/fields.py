"""One field of an index, as the service reads and completes its definition."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.search_service import analyzers, edm
from tests.search_service.errors import Json, bad_definition, not_simulated

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}")
_KNOWN = frozenset(
    """
    name type key searchable filterable sortable facetable retrievable stored analyzer
    searchAnalyzer indexAnalyzer normalizer synonymMaps fields dimensions vectorSearchProfile
    vectorEncoding
    """.split()
)
PREVIEW = frozenset({"permissionFilter", "sensitivityLabel"})
_MOST_DIMENSIONS = 4096


@dataclass(frozen=True, slots=True)
class Field:
    """A field with every attribute said; ``analyzer`` breaks up what is indexed."""

    name: str
    type: str
    key: bool
    searchable: bool
    filterable: bool
    sortable: bool
    facetable: bool
    retrievable: bool
    stored: bool
    analyzer: str
    search_analyzer: str
    dimensions: int = 0
    profile: str = ""

    @property
    def is_vector(self) -> bool:
        return self.type == edm.VECTOR

    @property
    def is_collection(self) -> bool:
        return edm.is_collection(self.type) and not self.is_vector

    @property
    def is_text(self) -> bool:
        return self.searchable and not self.is_vector

    @property
    def element(self) -> str:
        return edm.element(self.type)

    @property
    def has_column(self) -> bool:
        return self.filterable or self.sortable or self.facetable


def read_field(definition: Json) -> Field:
    """Return a field; raise Refused for one that can't be."""
    given = {name: value for name, value in definition.items() if value is not None}
    name, kind = str(given.get("name", "")), str(given.get("type", ""))
    _check_known(given)
    _check_name(name)
    if kind.endswith(("Edm.ComplexType", "Edm.ComplexType)", "Edm.GeographyPoint")):
        raise not_simulated(f"fields of type {kind}")
    if kind not in edm.TYPES:
        raise bad_definition(f"{name!r}: {kind!r} is no type that a field can have.")
    field = _completed(name, kind, given)
    _check_vector(field) if field.is_vector else _check_plain(field, given)
    return field


def _completed(name: str, kind: str, given: Json) -> Field:
    vector, text = kind == edm.VECTOR, kind in {edm.STRING, edm.STRINGS}
    analyzer: str = given.get("analyzer", analyzers.DEFAULT)
    return Field(
        name=name,
        type=kind,
        key=given.get("key", False),
        searchable=given.get("searchable", text),
        filterable=given.get("filterable", not vector),
        sortable=given.get("sortable", not edm.is_collection(kind)),
        facetable=given.get("facetable", not vector and not given.get("key", False)),
        retrievable=given.get("retrievable", not vector),
        stored=given.get("stored", True),
        analyzer=given.get("indexAnalyzer", analyzer),
        search_analyzer=given.get("searchAnalyzer", analyzer),
        dimensions=given.get("dimensions", 0),
        profile=given.get("vectorSearchProfile", ""),
    )


def _check_known(given: Json) -> None:
    for name in given:
        if name in PREVIEW:
            raise bad_definition(f"The property {name!r} needs a preview api-version.")
        if name not in _KNOWN:
            raise bad_definition(f"The property {name!r} does not exist on type 'search.field'.")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name.lower().startswith("azuresearch"):
        raise bad_definition(f"{name!r} is no name for a field: letters, digits, underscores.")


def _check_plain(field: Field, given: Json) -> None:
    if field.searchable and field.element != edm.STRING:
        raise bad_definition(f"{field.name!r}: a field of {field.type} can't be searchable.")
    if field.sortable and field.is_collection:
        raise bad_definition(f"{field.name!r}: a collection can't be sortable.")
    if field.key and (field.type != edm.STRING or not field.retrievable):
        raise bad_definition(f"{field.name!r}: a key is a retrievable Edm.String.")
    if not field.stored:
        raise bad_definition(f"{field.name!r}: only a vector field can be without storage.")
    if field.dimensions or field.profile:
        raise bad_definition(f"{field.name!r}: dimensions and profile are for vectors only.")
    _check_analyzers(field, given)


def _check_analyzers(field: Field, given: Json) -> None:
    named = {"analyzer", "indexAnalyzer", "searchAnalyzer"} & set(given)
    if named and not field.searchable:
        raise bad_definition(f"{field.name!r} has an analyzer, but is not searchable.")
    if named not in ({"analyzer"}, {"indexAnalyzer", "searchAnalyzer"}, set()):
        raise bad_definition(f"{field.name!r}: either analyzer, or both of the other two.")
    for name in (field.analyzer, field.search_analyzer):
        if not analyzers.is_known(name):
            raise bad_definition(f"{field.name!r}: there is no analyzer {name!r}.")


def _check_vector(field: Field) -> None:
    if not field.searchable or not field.profile:
        raise bad_definition(f"{field.name!r}: a vector is searchable and names its profile.")
    if field.filterable or field.sortable or field.facetable or field.key:
        raise bad_definition(f"{field.name!r}: a vector is no key, filter, facet or order.")
    if not 2 <= field.dimensions <= _MOST_DIMENSIONS:
        raise bad_definition(f"{field.name!r}: dimensions are 2 to {_MOST_DIMENSIONS}.")
    if not field.stored and field.retrievable:
        raise bad_definition(f"{field.name!r}: what is not stored is not retrievable.")

"""Fields and definitions of indexes: read, completed, changed and refused as the service does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from tests.fakes.search_service import protocol, text_index
from tests.fakes.search_service.protocol import Json, Refused, bad_definition, not_simulated

_FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}")
_KNOWN_OF_FIELD = frozenset(
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
        return self.type == protocol.VECTOR

    @property
    def is_collection(self) -> bool:
        return protocol.is_collection(self.type) and not self.is_vector

    @property
    def is_text(self) -> bool:
        return self.searchable and not self.is_vector

    @property
    def element(self) -> str:
        return protocol.element(self.type)

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
    if kind not in protocol.TYPES:
        raise bad_definition(f"{name!r}: {kind!r} is no type that a field can have.")
    field = _completed(name, kind, given)
    _check_vector(field) if field.is_vector else _check_plain(field, given)
    return field


def _completed(name: str, kind: str, given: Json) -> Field:
    vector, text = kind == protocol.VECTOR, kind in {protocol.STRING, protocol.STRINGS}
    analyzer: str = given.get("analyzer", text_index.DEFAULT)
    return Field(
        name=name,
        type=kind,
        key=given.get("key", False),
        searchable=given.get("searchable", text),
        filterable=given.get("filterable", not vector),
        sortable=given.get("sortable", not protocol.is_collection(kind)),
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
        if name not in _KNOWN_OF_FIELD:
            raise bad_definition(f"The property {name!r} does not exist on type 'search.field'.")


def _check_name(name: str) -> None:
    if not _FIELD_NAME.fullmatch(name) or name.lower().startswith("azuresearch"):
        raise bad_definition(f"{name!r} is no name for a field: letters, digits, underscores.")


def _check_plain(field: Field, given: Json) -> None:
    if field.searchable and field.element != protocol.STRING:
        raise bad_definition(f"{field.name!r}: a field of {field.type} can't be searchable.")
    if field.sortable and field.is_collection:
        raise bad_definition(f"{field.name!r}: a collection can't be sortable.")
    if field.key and (field.type != protocol.STRING or not field.retrievable):
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
        if not text_index.is_known(name):
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


_INDEX_NAME = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?!-)){0,126}[a-z0-9]")
_KNOWN_OF_INDEX = frozenset(
    """
    name description fields scoringProfiles defaultScoringProfile corsOptions suggesters analyzers
    tokenizers tokenFilters charFilters normalizers encryptionKey similarity semantic vectorSearch
    @odata.etag @odata.context
    """.split()
)
_PREVIEW = PREVIEW | {"permissionFilterOption", "purviewEnabled"}
_CUSTOM = (
    "scoringProfiles",
    "defaultScoringProfile",
    "analyzers",
    "tokenizers",
    "tokenFilters",
    "charFilters",
    "normalizers",
)
_MOST_FIELDS = 1000
_BM25 = "#Microsoft.Azure.Search.BM25Similarity"
_GRAPH = {"m": (4, 10), "efConstruction": (100, 1000), "efSearch": (100, 1000)}
_QUANTISATIONS = frozenset({"scalarQuantization", "binaryQuantization"})


@dataclass(frozen=True, slots=True)
class SemanticConfiguration:
    """Which fields the semantic ranker reads."""

    name: str
    title: str | None
    content: tuple[str, ...]
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """An index as defined; ``definition`` is what is answered when it is asked for."""

    name: str
    fields: Mapping[str, Field]
    key: str
    definition: Json
    k1: float = 1.2
    b: float = 0.75
    semantics: Mapping[str, SemanticConfiguration] = dataclass_field(default_factory=dict)
    default_semantics: str | None = None


def read_schema(definition: Json) -> Schema:
    """Return the index that is described; raise Refused for one that can't be."""
    given = {name: value for name, value in definition.items() if value is not None}
    _check_known_of_index(given)
    check_name(str(given.get("name", "")))
    fields = _fields(given)
    _check_vector_search(given.get("vectorSearch") or {}, fields)
    k1, b = _similarity(given.get("similarity") or {})
    semantics = given.get("semantic") or {}
    configurations = _semantics(semantics, fields)
    return Schema(
        name=given["name"],
        fields=fields,
        key=_key(fields),
        definition={**given, "fields": [_completed_index(f, fields) for f in given["fields"]]},
        k1=k1,
        b=b,
        semantics=configurations,
        default_semantics=_named(semantics.get("defaultConfiguration"), configurations),
    )


def check_name(name: str) -> None:
    """Refuse what is no name of an index or an alias."""
    if not _INDEX_NAME.fullmatch(name):
        raise bad_definition(
            f"Invalid index name {name!r}: lower-case letters, digits or dashes, no dash at the "
            "start, at the end or after another, 2 to 128 characters."
        )


def _check_known_of_index(given: Json) -> None:
    for name in given:
        if name in _PREVIEW:
            raise bad_definition(f"The property {name!r} needs a preview api-version.")
        if name not in _KNOWN_OF_INDEX:
            raise bad_definition(f"The property {name!r} does not exist on type 'search.index'.")
    for name in _CUSTOM:
        if given.get(name):
            raise not_simulated(f"custom {name}")


def _fields(given: Json) -> Mapping[str, Field]:
    fields = [read_field(each) for each in given.get("fields") or []]
    by_name = {each.name: each for each in fields}
    if len(by_name) != len(fields):
        raise bad_definition("Two fields have the same name.")
    if len(fields) > _MOST_FIELDS:
        raise bad_definition(f"An index has at most {_MOST_FIELDS} fields.")
    return by_name


def _key(fields: Mapping[str, Field]) -> str:
    keys = [each.name for each in fields.values() if each.key]
    if len(keys) != 1:
        raise bad_definition(f"An index has exactly one key field, this one {len(keys)}.")
    return keys[0]


def _completed_index(definition: Json, fields: Mapping[str, Field]) -> Json:
    read = fields[definition["name"]]
    flags = ("searchable", "filterable", "retrievable", "stored", "sortable", "facetable", "key")
    return {**definition, **{flag: getattr(read, flag) for flag in flags}}


def _named(name: object, known: Mapping[str, object]) -> str | None:
    if name is None:
        return None
    if name not in known:
        raise bad_definition(f"The default {name!r} is not defined.")
    return str(name)


def _similarity(given: Json) -> tuple[float, float]:
    if given and given.get("@odata.type") != _BM25:
        raise not_simulated(f"similarity {given.get('@odata.type')!r}")
    k1, b = given.get("k1"), given.get("b")
    return (1.2 if k1 is None else float(k1), 0.75 if b is None else float(b))


def _by_name(section: Json, part: str) -> dict[str, Json]:
    named = {each["name"]: each for each in section.get(part) or []}
    if len(named) != len(section.get(part) or []):
        raise bad_definition(f"Two of {part} have the same name.")
    return named


def _check_vector_search(section: Json, fields: Mapping[str, Field]) -> None:
    profiles = _by_name(section, "profiles")
    algorithms = _by_name(section, "algorithms")
    compressions = _by_name(section, "compressions")
    for algorithm in algorithms.values():
        _check_algorithm(algorithm)
    for compression in compressions.values():
        _check_compression(compression)
    for name, profile in profiles.items():
        _check_refers(name, profile.get("algorithm"), algorithms, needed=True)
        _check_refers(name, profile.get("compression"), compressions, needed=False)
        if profile.get("vectorizer"):
            raise not_simulated("vectorizers")
    for each in fields.values():
        if each.is_vector:
            _check_refers(each.name, each.profile, profiles, needed=True)


def _check_refers(who: str, name: object, known: Mapping[str, Json], *, needed: bool) -> None:
    if (needed or name is not None) and name not in known:
        raise bad_definition(f"{who!r} refers to {name!r}, which is not defined.")


def _check_algorithm(algorithm: Json) -> None:
    kind = algorithm.get("kind")
    if kind not in {"hnsw", "exhaustiveKnn"}:
        raise bad_definition(f"{kind!r} is no kind of algorithm.")
    parameters = algorithm.get(f"{kind}Parameters") or {}
    if parameters.get("metric") not in {None, "cosine"}:
        raise not_simulated(f"metric {parameters['metric']!r}")
    for name, (least, most) in _GRAPH.items():
        value = parameters.get(name)
        if value is not None and not least <= value <= most:
            raise bad_definition(f"{name} is {value}, and must be {least} to {most}.")


def _check_compression(compression: Json) -> None:
    if compression.get("kind") not in _QUANTISATIONS:
        raise bad_definition(f"{compression.get('kind')!r} is no kind of compression.")
    if {"rerankWithOriginalVectors", "defaultOversampling"} & set(compression):
        raise bad_definition("Rescoring is described in 'rescoringOptions' since 2025-09-01.")


def _semantics(section: Json, fields: Mapping[str, Field]) -> Mapping[str, SemanticConfiguration]:
    configurations = _by_name(section, "configurations")
    return {name: _semantic(each, fields) for name, each in configurations.items()}


def _semantic(given: Json, fields: Mapping[str, Field]) -> SemanticConfiguration:
    chosen = given.get("prioritizedFields") or {}
    title = (chosen.get("titleField") or {}).get("fieldName")
    content = _names(chosen.get("prioritizedContentFields"))
    keywords = _names(chosen.get("prioritizedKeywordsFields"))
    used = [*([title] if title else []), *content, *keywords]
    if not used:
        raise bad_definition(f"The semantic configuration {given['name']!r} names no field.")
    for name in used:
        _check_readable(fields.get(name), name)
    return SemanticConfiguration(given["name"], title, content, keywords)


def _names(chosen: list[Json] | None) -> tuple[str, ...]:
    return tuple(each["fieldName"] for each in chosen or [])


def _check_readable(found: Field | None, name: str) -> None:
    if found is None or found.element != protocol.STRING or not found.retrievable:
        raise bad_definition(f"The semantic ranker needs a retrievable string; {name!r} is none.")
    if not found.searchable:
        raise bad_definition(f"The semantic ranker needs a searchable field; {name!r} is not.")


_MAY_CHANGE = frozenset({"retrievable", "search_analyzer"})


def check_change(old: Schema, new: Schema) -> None:
    """Refuse what would need the index to be built anew."""
    for field in old.fields.values():
        changed = new.fields.get(field.name)
        if changed is None:
            raise _refused(f"Existing field {field.name!r} cannot be deleted.")
        if _fixed(field) != _fixed(changed):
            raise _refused(f"Existing field {field.name!r} cannot be changed.")
    for part in ("algorithms", "compressions"):
        _check_kept(part, old.definition, new.definition)
    if (old.k1, old.b) != (new.k1, new.b):
        raise _refused("The similarity of an index can't change without its downtime.")


def _fixed(field: Field) -> dict[str, object]:
    names = set(Field.__dataclass_fields__) - _MAY_CHANGE
    return {name: getattr(field, name) for name in names}


def _check_kept(part: str, old: Json, new: Json) -> None:
    kept = {each["name"]: each for each in (new.get("vectorSearch") or {}).get(part) or []}
    for each in (old.get("vectorSearch") or {}).get(part) or []:
        if kept.get(each["name"]) != each:
            raise _refused(f"{each['name']!r} of the vector search's {part} can't be changed.")


def _refused(what: str) -> Refused:
    return Refused(400, "OperationNotAllowed", f"{what} Build another index instead.")

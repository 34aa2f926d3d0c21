"""Index definitions: read, completed and refused as the service does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.search_service import edm
from tests.search_service.errors import Json, bad_definition, not_simulated
from tests.search_service.fields import PREVIEW, Field, read_field

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?!-)){0,126}[a-z0-9]")
_KNOWN = frozenset(
    """
    name description fields scoringProfiles defaultScoringProfile corsOptions suggesters analyzers
    tokenizers tokenFilters charFilters normalizers encryptionKey similarity semantic vectorSearch
    @odata.etag @odata.context
    """.split()
)
_PREVIEW = PREVIEW | {"permissionFilterOption", "purviewEnabled"}
_CUSTOM = ("analyzers", "tokenizers", "tokenFilters", "charFilters", "normalizers")
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
    semantics: Mapping[str, SemanticConfiguration] = field(default_factory=dict)
    default_semantics: str | None = None
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    default_profile: str | None = None


def read_schema(definition: Json) -> Schema:
    """Return the index that is described; raise Refused for one that can't be."""
    given = {name: value for name, value in definition.items() if value is not None}
    _check_known(given)
    check_name(str(given.get("name", "")))
    fields = _fields(given)
    _check_vector_search(given.get("vectorSearch") or {}, fields)
    k1, b = _similarity(given.get("similarity") or {})
    semantics = given.get("semantic") or {}
    configurations = _semantics(semantics, fields)
    weights = _weights(given.get("scoringProfiles") or [], fields)
    return Schema(
        name=given["name"],
        fields=fields,
        key=_key(fields),
        definition={**given, "fields": [_completed(f, fields) for f in given["fields"]]},
        k1=k1,
        b=b,
        semantics=configurations,
        default_semantics=_named(semantics.get("defaultConfiguration"), configurations),
        weights=weights,
        default_profile=_named(given.get("defaultScoringProfile"), weights),
    )


def check_name(name: str) -> None:
    """Refuse what is no name of an index or an alias."""
    if not _NAME.fullmatch(name):
        raise bad_definition(
            f"Invalid index name {name!r}: lower-case letters, digits or dashes, no dash at the "
            "start, at the end or after another, 2 to 128 characters."
        )


def _check_known(given: Json) -> None:
    for name in given:
        if name in _PREVIEW:
            raise bad_definition(f"The property {name!r} needs a preview api-version.")
        if name not in _KNOWN:
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


def _completed(definition: Json, fields: Mapping[str, Field]) -> Json:
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
    if found is None or found.element != edm.STRING or not found.retrievable:
        raise bad_definition(f"The semantic ranker needs a retrievable string; {name!r} is none.")
    if not found.searchable:
        raise bad_definition(f"The semantic ranker needs a searchable field; {name!r} is not.")


def _weights(
    profiles: list[Json], fields: Mapping[str, Field]
) -> Mapping[str, Mapping[str, float]]:
    return {each["name"]: _profile(each, fields) for each in profiles}


def _profile(profile: Json, fields: Mapping[str, Field]) -> Mapping[str, float]:
    if profile.get("functions"):
        raise not_simulated("functions of scoring profiles")
    weights: dict[str, float] = (profile.get("text") or {}).get("weights") or {}
    for name, weight in weights.items():
        if name not in fields or not fields[name].is_text or weight <= 0:
            raise bad_definition(f"{name!r} can't be weighted by {weight}.")
    return weights

"""Indexes and aliases that exist, batches written to them, and when they can be found."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field

from tests.fakes.search_service import protocol
from tests.fakes.search_service.corpus import Corpus
from tests.fakes.search_service.protocol import (
    Json,
    Refused,
    bad_document,
    bad_parameter,
    not_found,
    not_simulated,
)
from tests.fakes.search_service.schema import Field, Schema, check_change, check_name, read_schema

MOST_ACTIONS = 1000
_KEY = re.compile(r"(?!_)[A-Za-z0-9_\-=]{1,1024}")
_LONGEST_TERM = 32766
_ACTION = "@search.action"


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a batch; ``values`` are checked, and hold only what was said."""

    kind: str
    key: str
    values: Json


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one action."""

    key: str
    status: int
    error: str | None = None

    def shown(self) -> Json:
        good = self.error is None
        return {
            "key": self.key,
            "status": good,
            "errorMessage": self.error,
            "statusCode": self.status,
        }


Troubles = Callable[[str], Result | None]
"""Says for a key whether its action fails, and how."""


def read_batch(body: Json, schema: Schema) -> list[Action]:
    """Return a batch's actions; raise Refused where the whole batch is refused."""
    given = body.get("value")
    if not isinstance(given, list) or not given:
        raise bad_parameter("The request is invalid. Details: actions : No indexing actions found.")
    if len(given) > MOST_ACTIONS:
        raise bad_parameter(
            f"The request is invalid. Details: actions : {len(given)} indexing actions; the "
            f"maximum is {MOST_ACTIONS}."
        )
    return [_read(number, each, schema) for number, each in enumerate(given)]


def _read(number: int, given: Json, schema: Schema) -> Action:
    kind = given.get(_ACTION, "upload")
    if kind not in _APPLY:
        raise bad_document(number, f"{kind!r} is no indexing action.")
    values = {
        name: _value(number, schema.fields.get(name), name, value)
        for name, value in given.items()
        if name != _ACTION
    }
    return Action(kind, _key(number, given.get(schema.key)), values)


def _key(number: int, key: object) -> str:
    if key is None or key == "":
        raise bad_document(number, "Document key cannot be missing or empty.")
    if not _KEY.fullmatch(str(key)):
        raise bad_document(
            number,
            f"Invalid document key: {key!r}. Keys can only contain letters, digits, underscore "
            "(_), dash (-), or equal sign (=), and don't begin with an underscore.",
        )
    return str(key)


def _value(number: int, field: Field | None, name: str, value: object) -> object:
    if field is None:
        raise bad_document(
            number, f"The property {name!r} does not exist on type 'search.documentFields'."
        )
    try:
        kept = protocol.kept(field.type, value)
    except protocol.Unfit:
        raise bad_document(
            number, f"Cannot convert a value to {field.type} for {name!r}."
        ) from None
    if field.is_vector and isinstance(kept, list) and len(kept) != field.dimensions:
        raise bad_document(
            number,
            f"The vector field {name!r}, with dimension of '{field.dimensions}', expects a length "
            f"of '{field.dimensions}'. However, the provided vector has a length of '{len(kept)}'.",
        )
    return kept


def apply_batch(
    actions: list[Action], written: dict[str, Json], schema: Schema, troubles: Troubles
) -> list[Result]:
    """Change what is written, action by action; return what became of each."""
    return [_applied(action, written, schema, troubles) for action in actions]


def _applied(
    action: Action, written: dict[str, Json], schema: Schema, troubles: Troubles
) -> Result:
    trouble = troubles(action.key) or _too_long(action, schema)
    return trouble or _APPLY[action.kind](action, written, schema)


def _too_long(action: Action, schema: Schema) -> Result | None:
    """A text to filter, order or count by is one term, and a term has its limit."""
    for name, value in action.values.items():
        field = schema.fields[name]
        if field.has_column and any(
            isinstance(v, str) and len(v.encode()) > _LONGEST_TERM
            for v in (value if isinstance(value, list) else [value])
        ):
            said = f"Field {name!r} contains a term that is too large to process."
            return Result(action.key, 400, said)
    return None


def _upload(action: Action, written: dict[str, Json], schema: Schema) -> Result:
    new = action.key not in written
    blank = {f.name: protocol.kept(f.type, None) for f in schema.fields.values()}
    written[action.key] = {**blank, **action.values}
    return Result(action.key, 201 if new else 200)


def _merge(action: Action, written: dict[str, Json], _: Schema) -> Result:
    if action.key not in written:
        return Result(action.key, 404, "Document not found.")
    written[action.key] = {**written[action.key], **action.values}
    return Result(action.key, 200)


def _delete(action: Action, written: dict[str, Json], _: Schema) -> Result:
    written.pop(action.key, None)
    return Result(action.key, 200)


_APPLY: Mapping[str, Callable[[Action, dict[str, Json], Schema], Result]] = {
    "upload": _upload,
    "merge": _merge,
    "delete": _delete,
}


@dataclass(slots=True)
class StoredIndex:
    """One index: ``written`` is what it was told, ``corpus`` what can be found of it."""

    schema: Schema
    corpus: Corpus
    version: int = 1
    written: dict[str, Json] = field(default_factory=dict)
    waiting: deque[tuple[float, str, Json | None]] = field(default_factory=deque)

    @property
    def etag(self) -> str:
        return f'"0x{self.version:015X}"'

    def shown(self) -> Json:
        return {**self.schema.definition, "@odata.etag": self.etag}


@dataclass(slots=True)
class Indexes:
    """All indexes.

    Args:
        now: seconds.
        visible_after: seconds until what is written is found.
        keeps_inflections: whether new indexes have inflected words beside their base forms: the
            documentation says that those "mostly stay whole".
    """

    now: Callable[[], float]
    visible_after: float = 0.0
    held_back: bool = False
    keeps_inflections: bool = False
    _by_name: dict[str, StoredIndex] = field(default_factory=dict)

    def all(self) -> Mapping[str, StoredIndex]:
        return self._by_name

    def get(self, name: str) -> StoredIndex:
        """Return an index as it can be seen now; raise Refused where there is none."""
        index = self._by_name.get(name)
        if index is None:
            raise not_found("index", name)
        self._show_what_is_due(index)
        return index

    def put(self, name: str, definition: Json, headers: Mapping[str, str]) -> tuple[bool, Json]:
        """Create or change an index; return whether it is new, and the index."""
        schema = read_schema({**definition, "name": definition.get("name") or name})
        if schema.name != name:
            raise Refused(400, "InvalidRequestParameter", "The name differs from the address.")
        _check_unconditional(headers)
        old = self._by_name.get(name)
        if old is None:
            return True, self.create(schema)
        check_change(old.schema, schema)
        old.schema, old.version = schema, old.version + 1
        old.corpus.adopt(schema)
        return False, old.shown()

    def create(self, schema: Schema) -> Json:
        if schema.name in self._by_name:
            said = f"Cannot create index {schema.name!r} because it already exists."
            raise Refused(409, "ResourceNameAlreadyInUse", said)
        corpus = Corpus(schema, keeps_inflections=self.keeps_inflections)
        self._by_name[schema.name] = StoredIndex(schema, corpus)
        return self._by_name[schema.name].shown()

    def delete(self, name: str, headers: Mapping[str, str]) -> None:
        _check_unconditional(headers)
        if self._by_name.pop(name, None) is None:
            raise not_found("index", name)

    def write(self, name: str, body: Json, troubles: Troubles) -> list[Result]:
        """Do a batch; what succeeded is found after a while."""
        index = self.get(name)
        actions = read_batch(body, index.schema)
        results = apply_batch(actions, index.written, index.schema, troubles)
        due = self.now() + self.visible_after
        for result in results:
            if result.error is None:
                index.waiting.append((due, result.key, index.written.get(result.key)))
        self._show_what_is_due(index)
        return results

    def _show_what_is_due(self, index: StoredIndex) -> None:
        while index.waiting and not self.held_back and index.waiting[0][0] <= self.now():
            _, key, document = index.waiting.popleft()
            index.corpus.put(key, document)


def _check_unconditional(headers: Mapping[str, str]) -> None:
    if {"If-Match", "If-None-Match"} & set(headers):
        raise not_simulated("a condition in the headers")


@dataclass(slots=True)
class Aliases:
    """All aliases. Args: supported: False answers 404, as services did that had none; or 400.

    held: While true, documents go where an alias led before: swaps take their time.
    """

    supported: bool = True
    refusal: int = 404
    held: bool = False
    _written: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, str] = field(default_factory=dict)

    def resolve(self, name: str) -> str:
        """Return the index that a name stands for; itself where it is no alias."""
        if not self.held:
            self._seen = dict(self._written)
        return self._seen.get(name, name)

    def leads_to(self, index: str) -> bool:
        return index in self._written.values()

    def check_supported(self) -> None:
        if not self.supported:
            raise Refused(self.refusal, "", "Aliases are not known to this version of the service.")

    def put(self, name: str, body: Json, indexes: Container[str]) -> tuple[bool, Json]:
        """Create or move an alias; return whether it is new, and the alias."""
        check_name(name)
        led = body.get("indexes") or []
        if len(led) != 1:
            raise bad_parameter(f"An alias leads to exactly one index, {name!r} to {len(led)}.")
        if name in indexes:
            raise bad_parameter(f"There is an index with the name of the alias {name!r}.")
        if led[0] not in indexes:
            raise bad_parameter(f"The index {led[0]!r} of the alias {name!r} does not exist.")
        new = name not in self._written
        self._written[name] = led[0]
        return new, self._shown(name)

    def delete(self, name: str) -> None:
        if self._written.pop(name, None) is None:
            raise not_found("alias", name)

    def _shown(self, name: str) -> Json:
        return {"name": name, "indexes": [self._written[name]]}

"""The indexes that exist, what is written to them, and when it can be found."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.search_service.corpus import Corpus
from tests.search_service.documents import Result, Troubles, apply_batch, read_batch
from tests.search_service.errors import Json, Refused, not_found
from tests.search_service.schema import Schema, read_schema
from tests.search_service.schema_changes import check_change

_BYTES_OF_A_FLOAT = 4


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

    def statistics(self) -> Json:
        vectors = [f for f in self.schema.fields.values() if f.is_vector]
        documents = self.corpus.documents
        return {
            "documentCount": len(self.corpus),
            "storageSize": sum(len(str(document)) for document in documents),
            "vectorIndexSize": len(self.corpus)
            * sum(f.dimensions * _BYTES_OF_A_FLOAT for f in vectors),
        }


@dataclass(slots=True)
class Indexes:
    """All indexes. Args: now: seconds. visible_after: seconds until what is written is found."""

    now: Callable[[], float]
    visible_after: float = 0.0
    held_back: bool = False
    most: int = 50
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
        old = self._by_name.get(name)
        _check_condition(old, headers)
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
        if len(self._by_name) >= self.most:
            said = f"Index quota of {self.most} has been exceeded for this service."
            raise Refused(429, "ResourceQuotaExceeded", said)
        self._by_name[schema.name] = StoredIndex(schema, Corpus(schema))
        return self._by_name[schema.name].shown()

    def delete(self, name: str, headers: Mapping[str, str]) -> None:
        _check_condition(self._by_name.get(name), headers)
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


def _check_condition(index: StoredIndex | None, headers: Mapping[str, str]) -> None:
    match, none_match = headers.get("If-Match"), headers.get("If-None-Match")
    failed = (
        (match == "*" and index is None)
        or (match not in {None, "*"} and (index is None or match != index.etag))
        or (none_match == "*" and index is not None)
        or (none_match not in {None, "*"} and index is not None and none_match == index.etag)
    )
    if failed:
        said = "The precondition given in one of the request headers evaluated to false."
        raise Refused(412, "ConditionNotMet", said)

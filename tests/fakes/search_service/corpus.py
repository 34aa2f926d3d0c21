"""Documents of an index by row, with their texts (BM25) and vectors (exact cosines)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from tests.fakes.search_service import protocol
from tests.fakes.search_service.protocol import Json
from tests.fakes.search_service.schema import Field, Schema
from tests.fakes.search_service.text_index import (
    But,
    Column,
    Everything,
    Joined,
    Mask,
    Mode,
    Phrase,
    Prefix,
    Query,
    Scores,
    Term,
    TextIndex,
    analyze,
    parse_simple,
    query_terms,
)

Floats = NDArray[np.float32]
_DECIMALS = 6
"""Where equal vectors are equal, whatever order float32 was summed in."""


def score_of(cosine: float) -> float:
    """Return the service's score of a cosine: 1/3 for opposite, 1 for equal."""
    return 1.0 / (2.0 - cosine)


class VectorIndex:
    """Unit vectors by row, with room to grow."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._units: Floats = np.zeros((64, dimensions), dtype=np.float32)
        self._present = np.zeros(64, dtype=np.bool_)
        self._length = 0

    def append(self, vector: Sequence[float] | None) -> None:
        """Give the next row its vector, or none."""
        if self._length == len(self._units):
            self._units = np.concatenate([self._units, np.zeros_like(self._units)])
            self._present = np.concatenate([self._present, np.zeros_like(self._present)])
        if vector is not None:
            self._units[self._length] = _unit(vector)
            self._present[self._length] = True
        self._length += 1

    def nearest(
        self, vector: Sequence[float], k: int, within: Mask, keys: Sequence[str]
    ) -> list[tuple[int, float]]:
        """Return at most ``k`` rows and their cosines, nearest first, ties by key."""
        rows = np.flatnonzero(within & self._present[: self._length])
        if not len(rows):
            return []
        cosines = np.round(self._units[rows] @ _unit(vector), _DECIMALS)
        if len(rows) > k:
            least = np.partition(cosines, len(cosines) - k)[len(cosines) - k]
            rows, cosines = rows[cosines >= least], cosines[cosines >= least]
        near = [(int(row), float(cosine)) for row, cosine in zip(rows, cosines, strict=True)]
        return sorted(near, key=lambda each: (-each[1], keys[each[0]]))[:k]


def _unit(vector: Sequence[float]) -> Floats:
    given = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(given))
    return given / length if length else given


@dataclass(frozen=True, slots=True)
class Found:
    """Which rows match, and how well."""

    rows: Mask
    scores: Scores


@dataclass(frozen=True, slots=True)
class TextSearch:
    """What is searched: text by field, with the weight that each field has."""

    fields: Sequence[Field]
    texts: Mapping[str, TextIndex]
    weights: Mapping[str, float]
    alive: Mask
    mode: Mode

    def find(self, text: str | None) -> Found:
        """Return what matches; ``*`` and nothing match everything with a score of 1."""
        if not (text or "").strip():
            return self._everything()
        query = parse_simple(str(text), self.mode)
        found = None if query is None else self._of(query)
        return found or Found(np.zeros_like(self.alive), np.zeros(len(self.alive)))

    def _everything(self) -> Found:
        return Found(self.alive.copy(), self.alive.astype(np.float64))

    def _of(self, query: Query) -> Found | None:
        """Return None for a part without terms, such as a stop word: it asks for nothing."""
        match query:
            case Term():
                return self._in_fields(query.text, self._term)
            case Phrase():
                return self._in_fields(query.text, lambda i, terms: i.phrase(terms, self.alive))
            case Prefix():
                return self._prefix(query.text)
            case Everything():
                return self._everything()
            case But():
                return self._but(query.query)
            case Joined():
                return self._joined(query)
            case _ as never:
                assert_never(never)

    def _term(self, index: TextIndex, terms: tuple[str, ...]) -> Scores:
        """Return a word's scores; one that the analyzer splits is joined by the mode."""
        scores = [index.term(term, self.alive) for term in terms]
        total = np.asarray(sum(scores), dtype=np.float64)
        if self.mode == "all":
            total = total * np.logical_and.reduce([score > 0 for score in scores])
        return total

    def _in_fields(
        self, text: str, score: Callable[[TextIndex, tuple[str, ...]], Scores]
    ) -> Found | None:
        total: Scores | None = None
        for field in self.fields:
            terms = query_terms(field.search_analyzer, text)
            if terms:
                here = score(self.texts[field.name], terms) * self.weights.get(field.name, 1.0)
                total = here if total is None else total + here
        return None if total is None else Found(total > 0, total)

    def _prefix(self, start: str) -> Found:
        folded = start.lower()
        scores = [self.texts[field.name].prefix(folded, self.alive) for field in self.fields]
        total = np.asarray(sum(scores), dtype=np.float64)
        return Found(total > 0, total)

    def _but(self, query: Query) -> Found | None:
        found = self._of(query)
        if found is None:
            return None
        rows = self.alive & ~found.rows
        return Found(rows, rows.astype(np.float64))

    def _joined(self, query: Joined) -> Found | None:
        parts = [found for part in query.parts if (found := self._of(part)) is not None]
        if not parts:
            return None
        join = np.logical_and if query.operator == "all" else np.logical_or
        rows = reduce(join, (part.rows for part in parts))
        return Found(rows, np.asarray(sum(part.scores for part in parts) * rows))


_SPARE = 1000
"""So many dead rows are kept before all is laid out anew."""


class Corpus:
    """The visible documents of one index."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._row_of: dict[str, int] = {}
        self._lay_out({})

    @property
    def fields(self) -> Mapping[str, Field]:
        return self._schema.fields

    @property
    def schema(self) -> Schema:
        return self._schema

    @property
    def rows(self) -> int:
        return len(self.keys)

    @property
    def alive(self) -> Mask:
        return self._alive[: self.rows]

    def __len__(self) -> int:
        return len(self._row_of)

    def get(self, key: str) -> Json | None:
        row = self._row_of.get(key)
        return None if row is None else self.documents[row]

    def adopt(self, schema: Schema) -> None:
        """Be of another schema from now on."""
        self._schema = schema
        self._lay_out(self._living())

    def put(self, key: str, document: Json | None) -> None:
        """Show a document in place of the one with this key; None: show none."""
        old = self._row_of.pop(key, None)
        if old is not None:
            self._alive[old] = False
        if document is not None:
            self._append(key, document)
        if self.rows > 2 * len(self._row_of) + _SPARE:
            self._lay_out(self._living())

    def _living(self) -> dict[str, Json]:
        return {key: self.documents[row] for key, row in self._row_of.items()}

    def _lay_out(self, documents: Mapping[str, Json]) -> None:
        schema, fields = self._schema, self._schema.fields.values()
        self.keys: list[str] = []
        self.documents: list[Json] = []
        self._alive = np.zeros(64, dtype=np.bool_)
        self.columns = {f.name: Column() for f in fields if f.has_column}
        self.texts = {f.name: TextIndex(k1=schema.k1, b=schema.b) for f in fields if f.is_text}
        self.vectors = {f.name: VectorIndex(f.dimensions) for f in fields if f.is_vector}
        for key, document in documents.items():
            self._append(key, document)

    def _append(self, key: str, document: Json) -> None:
        row = self.rows
        if row == len(self._alive):
            self._alive = np.concatenate([self._alive, np.zeros_like(self._alive)])
        self._alive[row] = True
        self._row_of[key] = row
        self.keys.append(key)
        self.documents.append(document)
        for field in self._schema.fields.values():
            self._index(field, document.get(field.name))

    def _index(self, field: Field, value: Any) -> None:  # noqa: ANN401 - of the field's type
        if field.is_vector:
            self.vectors[field.name].append(value)
            return
        values = list(value or []) if field.is_collection else [value]
        if field.has_column:
            self.columns[field.name].append([protocol.comparable(field.type, v) for v in values])
        if field.is_text:
            self.texts[field.name].append([_terms(field, v) for v in values if v])


def _terms(field: Field, text: str) -> list[tuple[str, int]]:
    return [(token.text, token.position) for token in analyze(field.analyzer, text)]

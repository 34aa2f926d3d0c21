"""Documents of an index by row, with their texts (BM25) and vectors (exact cosines)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.fakes.search_service.protocol import Json
from tests.fakes.search_service.schema import Field, Schema
from tests.fakes.search_service.text_index import (
    Column,
    Mask,
    QueryPart,
    Scores,
    TextIndex,
    analyze,
    query_terms,
    read_full,
    read_simple,
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
    """What is searched: text by field."""

    fields: Sequence[Field]
    texts: Mapping[str, TextIndex]
    alive: Mask

    def find(self, text: str | None, *, full: bool = False) -> Found:
        """Return what has any of the parts; ``*`` and nothing match everything, with a score of 1.

        A word without terms, such as a stop word, asks for nothing.
        """
        if (text or "").strip() in {"", "*"}:
            return Found(self.alive.copy(), self.alive.astype(np.float64))
        total = np.zeros(len(self.alive))
        for part in read_full(str(text)) if full else read_simple(str(text)):
            for field in self.fields:
                total = total + part.boost * self._scores(part, field)
        return Found(total > 0, total)

    def _scores(self, part: QueryPart, field: Field) -> Scores:
        """Return the scores in one field; fuzzy terms are not analysed but for their case."""
        index = self.texts[field.name]
        if part.errors is not None:
            return index.similar(part.text.lower(), part.errors, self.alive)
        terms = query_terms(field.search_analyzer, part.text)
        if part.quoted:
            return index.phrase(terms, self.alive)
        return sum((index.term(term, self.alive) for term in terms), np.zeros(len(self.alive)))


_SPARE = 1000
"""So many dead rows are kept before all is laid out anew."""


class Corpus:
    """The visible documents of one index."""

    def __init__(self, schema: Schema, *, keeps_inflections: bool = False) -> None:
        self._schema = schema
        self._keeps_inflections = keeps_inflections
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
            self.columns[field.name].append(values)
        if field.is_text:
            analyzed = partial(analyze, field.analyzer, keeps_inflections=self._keeps_inflections)
            self.texts[field.name].append([term for v in values if v for term in analyzed(v)])

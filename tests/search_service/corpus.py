"""What of an index can be found: documents by row, and what filters and searches need of them.

Rows are only ever added; a document that changes gets another row and its old one is dead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.search_service import edm
from tests.search_service.analyzers import analyze
from tests.search_service.columns import Column, Mask
from tests.search_service.errors import Json
from tests.search_service.fields import Field
from tests.search_service.schema import Schema
from tests.search_service.text_index import TextIndex
from tests.search_service.vectors import VectorIndex

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
            self.columns[field.name].append([edm.comparable(field.type, v) for v in values])
        if field.is_text:
            self.texts[field.name].append([_terms(field, v) for v in values if v])


def _terms(field: Field, text: str) -> list[tuple[str, int]]:
    return [(token.text, token.position) for token in analyze(field.analyzer, text)]

"""Full text search: a query evaluated on the text of some fields, scored by BM25."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import assert_never

import numpy as np

from tests.search_service.analyzers import query_terms
from tests.search_service.columns import Mask
from tests.search_service.fields import Field
from tests.search_service.text_index import Scores, TextIndex
from tests.search_service.text_query import (
    But,
    Everything,
    Joined,
    Mode,
    Phrase,
    Prefix,
    Query,
    Term,
    parse_simple,
)


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

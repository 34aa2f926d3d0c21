"""The inverted index of one field, with what BM25 needs to know."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.search_service.columns import Mask

Scores = NDArray[np.float64]
"""One score a row; 0 where a row does not match."""

_GAP = 100
"""Positions between the elements of a collection, so that no phrase spans two."""


@dataclass(slots=True)
class _Posting:
    rows: array[int] = field(default_factory=lambda: array("q"))
    positions: list[tuple[int, ...]] = field(default_factory=list)
    counts: array[int] = field(default_factory=lambda: array("q"))


class TextIndex:
    """Terms of one field by row. Args: k1: how soon repetition is enough. b: length's weight."""

    def __init__(self, *, k1: float, b: float) -> None:
        self._k1 = k1
        self._b = b
        self._postings: dict[str, _Posting] = {}
        self._lengths = array("q")

    def append(self, elements: list[list[tuple[str, int]]]) -> None:
        """Give the next row its terms and their positions, element by element."""
        row, offset = len(self._lengths), 0
        places: dict[str, list[int]] = {}
        for terms in elements:
            for term, position in terms:
                places.setdefault(term, []).append(offset + position)
            offset += _GAP + len(terms)
        for term, positions in places.items():
            self._add(term, row, positions)
        self._lengths.append(sum(map(len, places.values())))

    def _add(self, term: str, row: int, positions: list[int]) -> None:
        posting = self._postings.setdefault(term, _Posting())
        posting.rows.append(row)
        posting.counts.append(len(positions))
        posting.positions.append(tuple(positions))

    def term(self, term: str, alive: Mask) -> Scores:
        """Return BM25 of one term."""
        posting = self._postings.get(term)
        if posting is None:
            return np.zeros(len(alive))
        return self._scored(np.array(posting.rows), np.array(posting.counts), alive)

    def phrase(self, terms: tuple[str, ...], alive: Mask) -> Scores:
        """Return BM25 of terms that follow each other."""
        if len(terms) == 1:
            return self.term(terms[0], alive)
        found = self._together(terms)
        rows = np.array(list(found), dtype=np.int64)
        return self._scored(rows, np.array(list(found.values()), dtype=np.int64), alive)

    def prefix(self, start: str, alive: Mask) -> Scores:
        """Return 1 for rows with a term that starts so: the service does not weigh these."""
        scores = np.zeros(len(alive))
        for term, posting in self._postings.items():
            if term.startswith(start):
                scores[np.array(posting.rows)] = 1.0
        return scores * alive

    def _together(self, terms: tuple[str, ...]) -> dict[int, int]:
        postings = [self._postings.get(term) for term in terms]
        if any(posting is None for posting in postings):
            return {}
        by_row = [dict(zip(p.rows, p.positions, strict=True)) for p in postings if p is not None]
        shared = set.intersection(*(set(rows) for rows in by_row))
        counts = {row: _runs([rows[row] for rows in by_row]) for row in sorted(shared)}
        return {row: count for row, count in counts.items() if count}

    def _scored(self, rows: NDArray[np.int64], counts: NDArray[np.int64], alive: Mask) -> Scores:
        scores = np.zeros(len(alive))
        living = alive[rows] if len(rows) else np.zeros(0, dtype=np.bool_)
        rows, counts = rows[living], counts[living]
        if len(rows):
            scores[rows] = self._rarity(len(rows), alive) * self._saturation(rows, counts, alive)
        return scores

    def _rarity(self, found: int, alive: Mask) -> float:
        filled = int(np.count_nonzero(np.array(self._lengths)[alive]))
        return float(np.log1p((filled - found + 0.5) / (found + 0.5)))

    def _saturation(
        self, rows: NDArray[np.int64], counts: NDArray[np.int64], alive: Mask
    ) -> Scores:
        lengths = np.array(self._lengths)
        filled = lengths[alive & (lengths > 0)]
        norm = 1 - self._b + self._b * lengths[rows] / filled.mean()
        return np.asarray(counts / (counts + self._k1 * norm), dtype=np.float64)


def _runs(places: list[tuple[int, ...]]) -> int:
    first, *rest = places
    later = [set(positions) for positions in rest]
    return sum(all(p + n in s for n, s in enumerate(later, 1)) for p in first)

"""Analysis of text, the words of a query, and the inverted index of one field."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from tests.fakes.search_service.protocol import not_simulated

Mask = NDArray[np.bool_]
"""Which rows are meant; as long as there are rows, dead ones too."""


class Column:
    """Values of one field; a collection has several in a row, a missing value is None."""

    def __init__(self) -> None:
        self._rows_of: dict[Hashable, array[int]] = {}
        self._length = 0

    def append(self, values: Collection[Hashable]) -> None:
        """Give the next row its values."""
        for value in set(values):
            self._rows_of.setdefault(value, array("q")).append(self._length)
        self._length += 1

    def among(self, values: Collection[Hashable]) -> Mask:
        """Return the rows that have one of these values."""
        mask = np.zeros(self._length, dtype=np.bool_)
        for value in values:
            rows = self._rows_of.get(value)
            if rows is not None:
                mask[np.array(rows)] = True
        return mask

    def where(self, holds: Callable[[Any], bool]) -> Mask:
        """Return the rows with a value, None apart, of which this holds."""
        return self.among([v for v in self._rows_of if v is not None and holds(v)])

    def counts(self, rows: Mask) -> dict[Hashable, int]:
        """Return how often each value is found in these rows, values that are not left out."""
        found = {v: int(rows[np.array(at)].sum()) for v, at in self._rows_of.items()}
        return {value: count for value, count in found.items() if count and value is not None}


DEFAULT = "standard.lucene"
_LONGEST = 255
_WORD = re.compile(r"\w+(?:(?:(?<=[^\W\d_])[.'’·](?=[^\W\d_])|(?<=\d)[.,;'](?=\d))\w+)*")
_STOP_WORDS = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then
    there these they this to was will with
    """.split()
)


Analyzer = Callable[[str], tuple[str, ...]]


def is_known(name: str) -> bool:
    return name in _NAMED


def analyze(name: str, text: str) -> tuple[str, ...]:
    """Return the terms of a text."""
    return _NAMED[name](text)


@lru_cache(maxsize=20_000)
def query_terms(name: str, text: str) -> tuple[str, ...]:
    """Return the terms that a part of a query looks for."""
    return analyze(name, text)


def _standard(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(text) if len(word) <= _LONGEST)


def _keyword(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _english(text: str) -> tuple[str, ...]:
    return tuple(_stem(word) for word in _standard(text) if word not in _STOP_WORDS)


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    stemmed: str = _PORTER.stemWord(re.sub("['’]s$", "", word))
    return stemmed


_PORTER = snowballstemmer.stemmer("porter")
_NAMED: dict[str, Analyzer] = {
    DEFAULT: _standard,
    "keyword": _keyword,
    "en.lucene": _english,
    "en.microsoft": _english,
}


_PART = re.compile(r"(?:\\.|[^\\ \t\n\r])+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_OPERATORS = frozenset('+|"()*')


def read_words(text: str) -> list[str]:
    """Return the words of a query in the simple syntax; refuse operators, which ours escapes."""
    parts = _PART.findall(text)
    for part in parts:
        if part.startswith("-") or _OPERATORS & set(_ESCAPED.sub("", part)):
            raise not_simulated(f"the operator in {part!r}")
    return [_ESCAPED.sub(r"\1", part) for part in parts]


Scores = NDArray[np.float64]
"""One score a row; 0 where a row does not match."""


@dataclass(slots=True)
class _Posting:
    rows: array[int] = field(default_factory=lambda: array("q"))
    counts: array[int] = field(default_factory=lambda: array("q"))


class TextIndex:
    """Terms of one field by row. Args: k1: how soon repetition is enough. b: length's weight."""

    def __init__(self, *, k1: float, b: float) -> None:
        self._k1 = k1
        self._b = b
        self._postings: dict[str, _Posting] = {}
        self._lengths = array("q")

    def append(self, terms: Collection[str]) -> None:
        """Give the next row its terms."""
        for term, count in Counter(terms).items():
            posting = self._postings.setdefault(term, _Posting())
            posting.rows.append(len(self._lengths))
            posting.counts.append(count)
        self._lengths.append(len(terms))

    def term(self, term: str, alive: Mask) -> Scores:
        """Return BM25 of one term."""
        posting = self._postings.get(term)
        if posting is None:
            return np.zeros(len(alive))
        return self._scored(np.array(posting.rows), np.array(posting.counts), alive)

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

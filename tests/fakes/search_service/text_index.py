"""Analysis of text, the parts of a query, and the inverted index of one field."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np
import snowballstemmer
from numpy.typing import NDArray
from rapidfuzz.distance import OSA

from tests.fakes.search_service.protocol import Refused, bad_parameter, not_simulated

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


def analyze(name: str, text: str, *, keeps_inflections: bool = False) -> tuple[str, ...]:
    """Return the terms of a text; en.microsoft may keep each word beside its base form."""
    if keeps_inflections and name == "en.microsoft":
        return tuple(chain(*(dict.fromkeys((_base_form(w), w)) for w in _kept_words(text))))
    return _NAMED[name](text)


@lru_cache(maxsize=20_000)
def query_terms(name: str, text: str) -> tuple[str, ...]:
    """Return the terms that a part of a query looks for."""
    return analyze(name, text)


def _standard(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(text) if len(word) <= _LONGEST)


def _keyword(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _kept_words(text: str) -> list[str]:
    found = (re.sub("['’]s$", "", word) for word in _standard(text))
    return [word for word in found if word not in _STOP_WORDS]


def _english(form: Callable[[str], str], text: str) -> tuple[str, ...]:
    return tuple(map(form, _kept_words(text)))


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    stemmed: str = _PORTER.stemWord(word)
    return stemmed


@lru_cache(maxsize=200_000)
def _base_form(word: str) -> str:
    """Return a regular word without its inflection, as a whole word: Porter's first step.

    The vendor's analyser has a dictionary. Of its terms is only told that they are valid words:
    "termination" stays whole, where its stem is "termin".
    """
    if word.endswith("s"):
        kept = {"sses": "ss", "ies": "y", "ss": "ss", "us": "us", "s": ""}
        suffix = next(each for each in kept if word.endswith(each))
        return word.removesuffix(suffix) + kept[suffix]
    inflected = re.fullmatch(r"(.*[aeiouy].*)(?:ed|ing)", word)
    if inflected is None or word.endswith("eed"):
        return word
    base = inflected[1]
    if re.search(r"([^aeiouylsz])\1$", base):
        return base[:-1]
    short = re.fullmatch(r"[^aeiou]*[aeiouy][^aeiouywx]", base)
    return base + "e" if short or re.search(r"(?:at|bl|iz|ur|[cgsv])$", base) else base


_PORTER = snowballstemmer.stemmer("porter")
_NAMED: dict[str, Analyzer] = {
    DEFAULT: _standard,
    "keyword": _keyword,
    "en.lucene": partial(_english, _stem),
    "en.microsoft": partial(_english, _base_form),
}


_PART = re.compile(r"(?:\\.|[^\\ \t\n\r])+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_OPERATORS = frozenset('+|"()*')


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A term or, ``quoted``, a phrase; with ``errors``, all terms with so many at most."""

    text: str
    boost: float = 1.0
    quoted: bool = False
    errors: int | None = None


def read_simple(text: str) -> list[QueryPart]:
    """Return the words of a query in the simple syntax; refuse operators, which ours escapes."""
    parts = _PART.findall(text)
    for part in parts:
        if part.startswith("-") or _OPERATORS & set(_ESCAPED.sub("", part)):
            raise not_simulated(f"the operator in {part!r}")
    return [QueryPart(_ESCAPED.sub(r"\1", part)) for part in parts]


_BOOST = r"(?:\^(?P<boost>\d+(?:\.\d+)?))?"
_FULL_PART = re.compile(
    rf"""
      (?P<open>\()
    | (?P<close>\)){_BOOST}
    | "(?P<phrase>(?:\\.|[^"\\])*)"{_BOOST.replace("boost", "phrase_boost")}
    | (?P<term>(?:\\.|[^\s\\+\-&|!(){{}}\[\]^"~*?:/])+)
      (?P<fuzzy>~(?P<errors>\d*)(?=[\s()^]|$))?{_BOOST.replace("boost", "term_boost")}
    """,
    re.DOTALL | re.VERBOSE,
)
_WORD_OPERATORS = frozenset({"AND", "OR", "NOT"})
_UNREAD = re.compile(r"[+\-&|!{}\[\]*?:/]")
_MOST_ERRORS = 2


def read_full(text: str) -> list[QueryPart]:
    """Return the parts of a query in the full syntax, of which any may be found.

    What is no query is refused as the service does; operators that ours doesn't send are not read.
    """
    groups: list[list[QueryPart]] = [[]]
    for found in _full_parts(text):
        if found["open"]:
            groups.append([])
        elif found["close"]:
            _close(groups, float(found["boost"] or 1))
        else:
            groups[-1].append(_full_part(found))
    if len(groups) > 1:
        raise _no_query("a parenthesis is not closed")
    return groups[0]


def _full_parts(text: str) -> Iterator[Mapping[str, str | None]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        if text[at].isspace():
            at += 1
            continue
        found = _FULL_PART.match(text, at)
        if found is None:
            operator = _UNREAD.match(text, at)
            raise not_simulated(f"{operator[0]!r}") if operator else _no_query(f"{text[at:]!r}")
        yield found.groupdict()
        at = found.end()


def _close(groups: list[list[QueryPart]], boost: float) -> None:
    if len(groups) == 1 or not groups[-1]:
        raise _no_query("a parenthesis encloses nothing")
    closed = groups.pop()
    groups[-1] += [replace(part, boost=part.boost * boost) for part in closed]


def _full_part(found: Mapping[str, str | None]) -> QueryPart:
    term, phrase = found["term"], found["phrase"]
    if term in _WORD_OPERATORS:
        raise not_simulated(f"{term!r}")
    if term is None:
        text = _ESCAPED.sub(r"\1", phrase or "")
        return QueryPart(text, float(found["phrase_boost"] or 1), quoted=True)
    errors = int(found["errors"] or _MOST_ERRORS) if found["fuzzy"] else None
    if errors is not None and errors > _MOST_ERRORS:
        raise _no_query(f"{errors} errors")
    return QueryPart(_ESCAPED.sub(r"\1", term), float(found["term_boost"] or 1), errors=errors)


def _no_query(what: str) -> Refused:
    return bad_parameter(f"Failed to parse query string: {what}.", detail="InvalidSearchText")


Scores = NDArray[np.float64]
"""One score a row; 0 where a row does not match."""


MOST_EXPANSIONS = 50
"""So many terms stand for a fuzzy one."""


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
        self._terms: list[tuple[str, ...]] = []
        self._lengths = array("q")

    def append(self, terms: Collection[str]) -> None:
        """Give the next row its terms."""
        for term, count in Counter(terms).items():
            posting = self._postings.setdefault(term, _Posting())
            posting.rows.append(len(self._lengths))
            posting.counts.append(count)
        self._terms.append(tuple(terms))
        self._lengths.append(len(terms))

    def term(self, term: str, alive: Mask) -> Scores:
        """Return BM25 of one term."""
        posting = self._postings.get(term)
        if posting is None:
            return np.zeros(len(alive))
        return self._scored(np.array(posting.rows), np.array(posting.counts), alive)

    def phrase(self, terms: Sequence[str], alive: Mask) -> Scores:
        """Return the sum of the terms' scores where they follow each other."""
        total = sum((self.term(term, alive) for term in terms), np.zeros(len(alive)))
        for row in np.flatnonzero(total):
            held = self._terms[row]
            starts = range(len(held) - len(terms) + 1)
            if not any(held[at : at + len(terms)] == tuple(terms) for at in starts):
                total[row] = 0
        return total

    def similar(self, word: str, errors: int, alive: Mask) -> Scores:
        """Return the scores of the terms that are spelt alike, the nearest 50 of the whole index.

        The service tells their number and the distance, but not how it weighs them: here, less
        with each error.
        """
        near = [(OSA.distance(word, term), term) for term in self._postings]
        expansions = sorted(each for each in near if each[0] <= errors)[:MOST_EXPANSIONS]
        total = np.zeros(len(alive))
        for distance, term in expansions:
            total += self.term(term, alive) / (1 + distance)
        return total

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

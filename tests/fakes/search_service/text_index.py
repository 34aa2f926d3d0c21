"""Analysis of text, Lucene's simple query syntax, and the inverted index of one field."""

from __future__ import annotations

import operator
import re
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
"""Which rows are meant; as long as there are rows, dead ones too."""

RANGES: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le,
}  # fmt: skip


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

    def any_value(self) -> Mask:
        return self.where(lambda _: True)

    def counts(self, rows: Mask) -> dict[Hashable, int]:
        """Return how often each value is found in these rows, values that are not left out."""
        found = {v: int(rows[np.array(at)].sum()) for v, at in self._rows_of.items()}
        return {value: count for value, count in found.items() if count and value is not None}


DEFAULT = "standard.lucene"
_LONGEST = 255
_WORD = re.compile(r"\w+(?:(?:(?<=[^\W\d_])[.'’·](?=[^\W\d_])|(?<=\d)[.,;'](?=\d))\w+)*")
_LETTERS = re.compile(r"[^\W\d_]+")
_STOP_WORDS = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then
    there these they this to was will with
    """.split()
)
_STEMMERS = {
    "da": "danish", "de": "german", "en": "porter", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "nb": "norwegian",
    "no": "norwegian", "pt-PT": "portuguese", "pt-BR": "portuguese", "ro": "romanian",
    "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Token:
    """A term and where it was: offsets in characters, position in words."""

    text: str
    start: int
    end: int
    position: int


Analyzer = Callable[[str], tuple[Token, ...]]


def is_known(name: str) -> bool:
    return name in _NAMED or _language(name) is not None


def analyze(name: str, text: str) -> tuple[Token, ...]:
    """Return the terms of a text."""
    if name in _NAMED:
        return _NAMED[name](text)
    return _in_language(str(_language(name)), text)


@lru_cache(maxsize=20_000)
def query_terms(name: str, text: str) -> tuple[str, ...]:
    """Return the terms that a part of a query looks for."""
    return tuple(token.text for token in analyze(name, text))


def _language(name: str) -> str | None:
    language, _, maker = name.partition(".")
    return language if maker in {"lucene", "microsoft"} and language in _STEMMERS else None


def _matches(pattern: re.Pattern[str], text: str) -> Iterable[Token]:
    for position, match in enumerate(pattern.finditer(text)):
        if len(match[0]) <= _LONGEST:
            yield Token(match[0].lower(), match.start(), match.end(), position)


def _standard(text: str) -> tuple[Token, ...]:
    return tuple(_matches(_WORD, text))


def _keyword(text: str) -> tuple[Token, ...]:
    return (Token(text, 0, len(text), 0),) if text else ()


def _whitespace(text: str) -> tuple[Token, ...]:
    found = enumerate(re.finditer(r"\S+", text))
    return tuple(Token(m[0], m.start(), m.end(), position) for position, m in found)


def _simple(text: str) -> tuple[Token, ...]:
    return tuple(_matches(_LETTERS, text))


def _stop(text: str) -> tuple[Token, ...]:
    return tuple(token for token in _simple(text) if token.text not in _STOP_WORDS)


def _in_language(language: str, text: str) -> tuple[Token, ...]:
    tokens = _standard(text)
    if language == "en":
        tokens = tuple(t for t in tokens if t.text not in _STOP_WORDS)
    return tuple(replace(token, text=_stem(language, token.text)) for token in tokens)


@lru_cache(maxsize=200_000)
def _stem(language: str, word: str) -> str:
    stemmed: str = _stemmer(_STEMMERS[language]).stemWord(re.sub("['’]s$", "", word))
    return stemmed


@cache
def _stemmer(name: str) -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer(name)


_NAMED: dict[str, Analyzer] = {
    "standard": _standard,
    "standard.lucene": _standard,
    "keyword": _keyword,
    "whitespace": _whitespace,
    "simple": _simple,
    "stop": _stop,
}


Mode = Literal["any", "all"]
_ENDS = frozenset('"|+() \t\n\r')


@dataclass(frozen=True, slots=True)
class Term:
    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    text: str


@dataclass(frozen=True, slots=True)
class Prefix:
    text: str


@dataclass(frozen=True, slots=True)
class Everything:
    """``*`` alone."""


@dataclass(frozen=True, slots=True)
class But:
    """All documents but these; under ``any`` it adds nearly all, as the service documents."""

    query: Query


@dataclass(frozen=True, slots=True)
class Joined:
    operator: Mode
    parts: tuple[Query, ...]


Query = Term | Phrase | Prefix | Everything | But | Joined


def parse_simple(text: str, mode: Mode) -> Query | None:
    """Return the query; None where there is nothing to look for."""
    return _Parser(text, mode).whole()


class _Parser:
    def __init__(self, text: str, mode: Mode) -> None:
        self._text = text
        self._mode = mode
        self._at = 0
        self._top: Query | None = None
        self._last: Mode | None = None
        self._now: Mode | None = None
        self._negated = False

    def whole(self) -> Query | None:
        while self._at < len(self._text):
            sign = self._text[self._at]
            self._step(sign)
            self._negated = self._negated and sign == "-"
        return self._top

    def _step(self, sign: str) -> None:
        if sign == "(":
            self._group()
        elif sign == '"':
            self._phrase()
        elif sign in "+|":
            self._operator("all" if sign == "+" else "any")
        elif sign == "-":
            self._negated = not self._negated
            self._at += 1
        elif sign in ") \t\n\r":
            self._at += 1
        else:
            self._word()

    def _operator(self, operator: Mode) -> None:
        if self._now is None and self._top is not None:
            self._now = operator
        self._at += 1

    def _group(self) -> None:
        end = self._closing()
        if end is None:
            self._at += 1
            return
        inside = parse_simple(self._text[self._at + 1 : end], self._mode)
        self._at = end + 1
        self._add(inside)

    def _closing(self) -> int | None:
        """Return where the bracket here is closed; brackets in brackets count."""
        depth, at = 0, self._at
        while at < len(self._text):
            if self._text[at] == "\\":
                at += 1
            elif self._text[at] == "(":
                depth += 1
            elif self._text[at] == ")":
                depth -= 1
                if depth == 0:
                    return at
            at += 1
        return None

    def _phrase(self) -> None:
        words: list[str] = []
        at = self._at + 1
        while at < len(self._text) and self._text[at] != '"':
            at += self._text[at] == "\\"
            words.append(self._text[at : at + 1])
            at += 1
        if at >= len(self._text):
            self._at += 1
            return
        self._at = at + 1
        self._add(Phrase("".join(words)) if words else None)

    def _word(self) -> None:
        letters: list[str] = []
        prefix = False
        while self._at < len(self._text) and self._text[self._at] not in _ENDS:
            sign = self._text[self._at]
            escaped = sign == "\\"
            self._at += escaped
            letters.append(self._text[self._at : self._at + 1])
            prefix = letters[-1] == "*" and not escaped
            self._at += 1
        self._add(_named("".join(letters), prefix=prefix))

    def _add(self, query: Query | None) -> None:
        if query is not None:
            self._join(But(query) if self._negated else query)

    def _join(self, query: Query) -> None:
        if self._top is None:
            self._top = query
        else:
            operator = self._now or self._mode
            before = self._top
            parts = before.parts if isinstance(before, Joined) and self._last == operator else None
            self._top = Joined(operator, (*(parts or (before,)), query))
            self._last = operator
        self._now = None


def _named(word: str, *, prefix: bool) -> Query | None:
    if not prefix:
        return Term(word) if word else None
    return Prefix(word[:-1]) if len(word) > 1 else Everything()


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

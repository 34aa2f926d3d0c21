"""Query terms and score fusion for hybrid (keyword and vector) search, for both indexes; pure.

A chunk's rank follows from its scores in each search, not only from its ranks there; the best are
also compared by their tokens and word pairs. No word of a question is interpreted as a query
operator.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from rag.text.words import content_words, running_words, stem, stems, words

MOST_TERMS = 48
"""Limit of query terms. A pasted log has hundreds; each costs time, and few are distinctive."""

_WORD_CHARACTER = re.compile(r"[^\W_]")


def query_terms(text: str) -> tuple[str, ...]:
    """Return the distinct search terms; stop words only when there is nothing else.

    Of very many words the first and the last are kept: that is where people put their question.
    """
    found = [word for word in content_words(text) or words(text) if _WORD_CHARACTER.search(word)]
    distinct = list(dict.fromkeys(word.removesuffix("'s") for word in found))
    if len(distinct) > MOST_TERMS:
        half = MOST_TERMS // 2
        distinct = [*distinct[:half], *distinct[-half:]]
    return tuple(distinct)


def fts5_match_any(found: tuple[str, ...]) -> str:
    """Return an FTS5 expression for chunks with any of the words.

    Each word is quoted, so that none is interpreted as an operator or a column.
    """
    return " OR ".join(f'"{word.replace(chr(34), "")}"' for word in found)


_SHORT = 3
"""Stems up to this length may have lost more than a suffix: "die" is that of "dying"."""


def shared_word_pairs(question: str, texts: Mapping[int, str]) -> dict[int, float]:
    """Return for each text the share of the question's word pairs that it holds, in [0, 1].

    A pair is two consecutive content words, stemmed, ignoring stop words between them. Single words
    show what a text mentions, pairs that it is about the same thing: the ordered feature of the
    sequential dependence model (Metzler and Croft, SIGIR 2005), with the share instead of its
    smoothed likelihood.

    A question of fewer than two content words has no pairs; the result is empty then.
    """
    wanted = frozenset(pairwise(stems(question)))
    if not wanted:
        return {}
    initials = {found[0] for pair in wanted for found in pair}
    begun = [(_beginning(first), _beginning(second)) for first, second in wanted]
    return {
        number: len(wanted.intersection(pairwise(_stems(text, initials)))) / len(wanted)
        if _may_hold(text.lower(), begun)
        else 0.0
        for number, text in texts.items()
    }


def _beginning(found: str) -> str:
    """Return a prefix of every word with this stem; "dying" has "die"."""
    return found[:1] if len(found) <= _SHORT else found[:-1]


def _may_hold(text: str, pairs: Iterable[tuple[str, str]]) -> bool:
    """Return whether a text may hold one of the pairs: a cheap filter, as tokenizing is slow."""
    shown = text.replace("\u2019", "'")
    return any(first in shown and second in shown for first, second in pairs)


def _stems(text: str, initials: Collection[str]) -> list[str]:
    """Return the words, stemmed only where they can match.

    Stemming is slow, and never changes a word's first letter.
    """
    return [stem(word) if word[0] in initials else word for word in running_words(text)]


CHUNKS_OF_A_PAGE = 3
"""At most this many chunks of one page come first, so one long page can't displace the others."""

RERANKED = 30
"""Number of best chunks compared by tokens and word pairs; more cost time and change little."""

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """The weights of each search and of the comparisons of the best chunks.

    ``tokens`` is the share of the token comparison; ``pairs`` is what containing all of the
    question's word pairs adds to a score that is otherwise in [0, 1].

    Tuned on the sample's questions, Contoso's benefits, SQuAD, and the questions that are headings
    in a public handbook. Anything from 0.5 to 0.65 for ``vector``, 0.6 to 0.8 for ``tokens`` and
    0.3 to 0.7 for ``pairs`` is within the noise of those.
    """

    keyword: float = 0.4
    vector: float = 0.6
    tokens: float = 0.6
    pairs: float = 0.5


class Candidate(NamedTuple):  # made by the hundred: a frozen dataclass takes twice the time
    """A chunk that one of the searches found.

    ``keyword`` is BM25, higher is better; ``vector`` the cosine; None where a search has no score
    for the chunk. Ranks count from 1, None beyond the search's limit. ``page`` is equal for chunks
    that compete with each other for places.
    """

    chunk: int
    id: str
    page: tuple[int, int | None]
    keyword: float | None
    vector: float | None
    keyword_rank: int | None
    vector_rank: int | None


class Ranked(NamedTuple):
    """A candidate in the final order.

    ``fused`` in [0, 1] is the combined score of both searches, ``tokens`` the token similarity,
    ``pairs`` the share of the question's word pairs that the chunk holds; None where they were not
    compared. ``score`` decreases with the order.
    """

    candidate: Candidate
    fused: float
    score: float
    tokens: float | None = None
    pairs: float | None = None


def fuse(candidates: Sequence[Candidate], weights: FusionWeights) -> list[Ranked]:
    """Return all candidates, best first; ties in the order of their ids.

    Each search's scores are scaled within the question: BM25 by its best, cosines from the worst
    found to the best. Without keyword matches that score is 0; a chunk without a vector is ranked
    by keywords alone.
    """
    keyword = _Scale.from_zero(found.keyword for found in candidates)
    vector = _Scale.of_found(found.vector for found in candidates if found.vector_rank is not None)
    whole = weights.keyword * keyword.known + weights.vector * vector.known or 1.0

    def fused(found: Candidate) -> float:
        by_word = keyword.of(found.keyword)
        if found.vector is None:
            return round(by_word, _DIGITS)
        both = weights.keyword * by_word + weights.vector * vector.of(found.vector)
        return round(both / whole, _DIGITS)

    scores = map(fused, candidates)
    return _in_order(
        Ranked(found, score, score) for found, score in zip(candidates, scores, strict=True)
    )


def rerank(
    best: Iterable[Ranked],
    tokens: Mapping[int, float],
    pairs: Mapping[int, float],
    weights: FusionWeights,
) -> list[Ranked]:
    """Reorder the best candidates by their tokens and word pairs; they stay before all others.

    Args:
        best: The first few of what ``fuse`` returned.
        tokens: Token similarity by chunk; a chunk without one keeps its ``fused`` score.
        pairs: By chunk, the share of the question's word pairs in it; empty when it has none.
        weights: The weights of tokens and pairs.
    """
    scale = _Scale.of_found(tokens.values())
    share = weights.pairs if pairs else 0.0

    def score(place: Ranked, near: float | None, held: float | None) -> float:
        alike = place.fused
        if near is not None:
            alike = (1 - weights.tokens) * alike + weights.tokens * scale.of(near)
        return 1.0 + round((alike + share * (held or 0.0)) / (1 + share), _DIGITS)

    return _in_order(
        place._replace(score=score(place, near, held), tokens=near, pairs=held)
        for place in best
        for near, held in [(tokens.get(place.candidate.chunk), pairs.get(place.candidate.chunk))]
    )


def limit_per_page(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Move chunks beyond a page's limit behind all others, keeping the order."""
    taken: Counter[tuple[int, int | None]] = Counter()
    first: list[Ranked] = []
    later: list[Ranked] = []
    for place in ranked:
        taken[place.candidate.page] += 1
        if taken[place.candidate.page] <= CHUNKS_OF_A_PAGE:
            first.append(place)
        else:
            later.append(place._replace(score=place.score - 2.0))
    return first + later


def _in_order(ranked: Iterable[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda place: (-place.score, place.candidate.id))


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps ``worst`` to 0 and ``best`` to 1; values below the worst are 0 as well."""

    worst: float
    best: float
    known: bool

    @staticmethod
    def from_zero(scores: Iterable[float | None]) -> _Scale:
        known = [score for score in scores if score is not None]
        return _Scale(0.0, max(known, default=0.0), bool(known))

    @staticmethod
    def of_found(scores: Iterable[float | None]) -> _Scale:
        known = [score for score in scores if score is not None]
        return _Scale(min(known, default=0.0), max(known, default=0.0), bool(known))

    def of(self, score: float | None) -> float:
        if score is None:
            return 0.0
        span = self.best - self.worst
        return max(0.0, (score - self.worst) / span) if span > 0 else float(score >= self.best)

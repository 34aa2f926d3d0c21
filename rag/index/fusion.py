"""One order from two searches: by how well a chunk did in each, not only by its rank. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CHUNKS_OF_A_PAGE = 3
"""At most so many of one page come first, so that one long page can't crowd out the others."""

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Weights:
    """What each search's say is worth."""

    keyword: float = 0.5
    vector: float = 0.5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that one of the searches found.

    ``keyword`` is BM25, higher is better; ``vector`` the cosine; None where a search does not
    know the chunk. Ranks count from 1, None beyond what the search was asked for. ``page`` is
    whatever is the same for chunks that compete with each other for places.
    """

    chunk: int
    id: str
    page: tuple[int, int | None]
    keyword: float | None
    vector: float | None
    keyword_rank: int | None
    vector_rank: int | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place. ``fused`` is in [0, 1]; ``score`` falls with the order."""

    candidate: Candidate
    fused: float
    score: float


def fuse(candidates: Sequence[Candidate], weights: Weights) -> list[Ranked]:
    """Return all candidates, best first; equal ones in the order of their ids.

    Each search's scores are scaled within the question: BM25 by its best, cosines from the
    worst found to the best. A chunk unknown to a search gets nothing from it.
    """
    keyword = _Scale.from_zero(found.keyword for found in candidates)
    vector = _Scale.of_found(found.vector for found in candidates if found.vector_rank is not None)
    whole = weights.keyword * keyword.known + weights.vector * vector.known or 1.0
    fused = [
        (
            found,
            round(
                (
                    weights.keyword * keyword.of(found.keyword)
                    + weights.vector * vector.of(found.vector)
                )
                / whole,
                _DIGITS,
            ),
        )
        for found in candidates
    ]
    fused.sort(key=lambda pair: (-pair[1], pair[0].id))
    return _spread(fused)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps ``worst`` to 0 and ``best`` to 1; what is below the worst is 0 as well."""

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


def _spread(fused: Iterable[tuple[Candidate, float]]) -> list[Ranked]:
    """Put what exceeds a page's share behind everything else, in order."""
    taken: Counter[tuple[int, int | None]] = Counter()
    first: list[Ranked] = []
    later: list[Ranked] = []
    for candidate, score in fused:
        taken[candidate.page] += 1
        if taken[candidate.page] <= CHUNKS_OF_A_PAGE:
            first.append(Ranked(candidate, score, score))
        else:
            later.append(Ranked(candidate, score, score - 1.0))
    return first + later

"""What could be quoted for a question: the units of its passages, shortlisted by words; pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.sentences import Unit, is_heading, plain, split
from rag.types import Chunk, Passage
from rag.words import stems

Floats = NDArray[np.float64]

MAX_QUOTE_WORDS = 80
"""Longer units are not quoted: a reader would not find the answer in them."""

MAX_CANDIDATES = 60
"""How many units are embedded for one question at most; bounds the time of an answer."""

BREADCRUMB_SHARE = 0.5
"""What a word counts for that stands in the breadcrumb alone."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit that could be quoted.

    ``place`` is the rank of its passage and its position among that passage's units; ``shown`` is
    what a reader sees of the quote, ``in_context`` the same below its breadcrumb and lead-in.
    ``passage_score`` is relative to the best passage, 0..1.
    """

    place: tuple[int, int]
    chunk: Chunk
    unit: Unit
    quote: str
    shown: str
    in_context: str
    passage_score: float
    stems: frozenset[str]
    breadcrumb: frozenset[str]

    @property
    def at(self) -> tuple[str, int, int]:
        """Its chunk's id, and where in its text it stands."""
        return self.chunk.id, self.unit.start, self.unit.end

    @property
    def words(self) -> int:
        return len(self.shown.split())


def candidates_of(passages: Sequence[Passage], first_rank: int = 0) -> tuple[Candidate, ...]:
    """Return every unit of the passages that can be quoted, in the order of the passages."""
    best = max((passage.score for passage in passages), default=0.0)
    return tuple(
        candidate
        for rank, passage in enumerate(passages, start=first_rank)
        for candidate in _of_passage(rank, passage, best)
    )


def coverage_of(question: str, candidates: Sequence[Candidate]) -> Floats:
    """Return which share of the question's words each candidate holds, rare words counting more."""
    wanted = frozenset(stems(question))
    weight = _rarity(wanted, candidates)
    total = sum(weight.values()) or 1.0
    return (
        np.array(
            [
                sum(weight[stem] for stem in wanted & candidate.stems)
                + BREADCRUMB_SHARE
                * sum(weight[stem] for stem in (wanted & candidate.breadcrumb) - candidate.stems)
                for candidate in candidates
            ],
            dtype=np.float64,
        )
        / total
    )


def shortlist(
    candidates: Sequence[Candidate], coverage: Floats, most: int
) -> tuple[Candidate, ...]:
    """Return the candidates worth embedding, at most ``most``, in their order."""
    passage = np.array([candidate.passage_score for candidate in candidates], dtype=np.float64)
    best = np.argsort(-(coverage + passage), kind="stable")[:most]
    return tuple(candidates[i] for i in sorted(int(i) for i in best))


def _of_passage(rank: int, passage: Passage, best: float) -> list[Candidate]:
    chunk = passage.chunk
    units = split(chunk.text)
    above = " > ".join(chunk.breadcrumb[1:])
    breadcrumb = frozenset(stems(above))
    shown = [plain(chunk.text[unit.start : unit.end]) for unit in units]
    return [
        Candidate(
            place=(rank, at),
            chunk=chunk,
            unit=unit,
            quote=chunk.text[unit.start : unit.end],
            shown=shown[at],
            in_context="\n".join(filter(None, (above, _introduced(unit, shown), shown[at]))),
            passage_score=max(0.0, passage.score) / best if best > 0 else 0.0,
            stems=frozenset(stems(shown[at])),
            breadcrumb=breadcrumb,
        )
        for at, unit in enumerate(units)
        if _quotable(unit, shown[at])
    ]


def _quotable(unit: Unit, shown: str) -> bool:
    """Leave out what is too long, and headings that stand in the text as lines of their own."""
    heading = unit.kind == "sentence" and is_heading(shown)
    return len(shown.split()) <= MAX_QUOTE_WORDS and not heading


def _introduced(unit: Unit, shown: Sequence[str]) -> str:
    return " ".join(shown[at] for at in (unit.lead, unit.header) if at is not None)


def _rarity(wanted: frozenset[str], candidates: Sequence[Candidate]) -> dict[str, float]:
    held = Counter(stem for candidate in candidates for stem in wanted & candidate.stems)
    return {stem: math.log(1 + len(candidates) / (1 + held[stem])) for stem in wanted}

"""Answers without a model: the sentences, list items and rows themselves, quoted in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rag import telemetry
from rag.answer_types import asked, gives
from rag.candidates import MAX_QUOTE_WORDS, Candidate, Floats, candidates_of, coverage_of, shortlist
from rag.ports import Composition, Embedder
from rag.remembering import RememberingEmbedder
from rag.telemetry import Attributes, describe, span
from rag.types import Citation, Claim, Passage
from rag.words import stems

MAX_WORDS = MAX_QUOTE_WORDS
"""An answer is never longer, counted as a reader counts."""

TABLE_WORDS = 45
"""A table up to this size is quoted whole."""

BREADTH = 0.4
"""How far below the best candidate's score another may lie and still be quoted."""

SPEECHLESS = 0.15
"""Cosine below which a text that shares no word with the question says nothing about it."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal counts for; read off labelled questions, see docs/confidence.md."""

    cosine: float = 1.0
    coverage: float = 0.5
    passage: float = 0.8
    answer_type: float = 0.1
    neighbour: float = 0.12


@dataclass(frozen=True, slots=True)
class _Judged:
    """The candidates of one question with their signals, one row each."""

    candidates: tuple[Candidate, ...]
    cosine: Floats
    coverage: Floats
    typed: Floats
    score: Floats


class ExtractiveComposer:
    """Quotes what answers the question; asserts nothing of its own.

    Args:
        embedder: None means that words alone decide.
        weights: what each signal counts for.
    """

    name: Literal["extractive"] = "extractive"

    def __init__(self, embedder: Embedder | None, weights: Weights | None = None) -> None:
        self._embedder = RememberingEmbedder(embedder) if embedder else None
        self._weights = weights or Weights()

    async def compose(self, question: str, passages: Sequence[Passage]) -> Composition:
        """Return at most 80 words of quotes. Raises ModelUnavailable from the embedder."""
        with span(telemetry.GENERATION, _asked(passages)):
            judged = await self._judge(question, passages)
            if not judged.candidates or _speechless(judged):
                return Composition(claims=())
            chosen = _choose(judged)
        with span(telemetry.GROUNDING, {telemetry.COMPOSER: self.name}) as current:
            composition = Composition(
                claims=tuple(_claim(i, judged) for i in _reading_order(chosen, judged)),
                signals=_signals(question, judged, chosen),
            )
            describe(current, telemetry.of_claims(composition))
            return composition

    async def _judge(self, question: str, passages: Sequence[Passage]) -> _Judged:
        candidates = candidates_of(passages)
        kept = shortlist(candidates, coverage_of(question, candidates))
        candidates = tuple(candidates[i] for i in kept)
        cosine = await self._cosine(question, candidates)
        coverage = coverage_of(question, candidates)
        wanted = asked(question)
        typed = np.array([float(gives(candidate.shown, wanted)) for candidate in candidates])
        weights = self._weights
        score = (
            weights.cosine * cosine
            + weights.coverage * coverage
            + weights.passage * np.array([candidate.passage_score for candidate in candidates])
            + weights.answer_type * typed
        )
        smooth = _with_neighbours(candidates, score, weights.neighbour)
        return _Judged(candidates, cosine, coverage, typed, smooth)

    async def _cosine(self, question: str, candidates: Sequence[Candidate]) -> Floats:
        if self._embedder is None or not candidates:
            return np.zeros(len(candidates))
        vector = await self._embedder.embed_query(question)
        vectors = await self._embedder.embed([candidate.in_context for candidate in candidates])
        return np.asarray(vectors @ vector, dtype=np.float64)


def _asked(passages: Sequence[Passage]) -> Attributes:
    return {telemetry.COMPOSER: ExtractiveComposer.name, telemetry.PASSAGES: len(passages)}


def _speechless(judged: _Judged) -> bool:
    return bool(judged.cosine.max() < SPEECHLESS and judged.coverage.max() == 0)


def _with_neighbours(candidates: Sequence[Candidate], score: Floats, share: float) -> Floats:
    """Let the text beside a good candidate gain: answers run on into the next sentence."""
    places = {candidate.place: i for i, candidate in enumerate(candidates)}
    smooth = score.copy()
    for i, candidate in enumerate(candidates):
        rank, at = candidate.place
        beside = [score[places[p]] for p in ((rank, at - 1), (rank, at + 1)) if p in places]
        smooth[i] = (1 - share) * score[i] + share * max(beside, default=0.9 * score[i])
    return smooth


def _choose(judged: _Judged) -> list[int]:
    """Take the best candidates, each with what introduces it, while there is room."""
    places = {candidate.place: i for i, candidate in enumerate(judged.candidates)}
    floor = judged.score.max() - BREADTH
    chosen: list[int] = []
    room = MAX_WORDS
    for i in (int(i) for i in np.argsort(-judged.score, kind="stable")):
        if judged.score[i] < floor:
            break
        for group in _groups(i, judged.candidates, places):
            new = _unsaid(group, chosen, judged.candidates)
            needed = sum(judged.candidates[n].words for n in new)
            if needed <= room:
                chosen += new
                room -= needed
                break
    return chosen


def _groups(
    i: int, candidates: Sequence[Candidate], places: Mapping[tuple[int, int], int]
) -> list[list[int]]:
    """Return what to quote for a candidate, the fullest first.

    A small table is quoted whole, since its rows explain each other; a row of a larger one comes
    with its header, never without.
    """
    introduced = _with_introduction(i, candidates, places)
    candidate = candidates[i]
    if (candidate.place[0], candidate.unit.header) not in places:
        return [introduced, [i]]
    rows = [n for n, other in enumerate(candidates) if _same_table(candidate, other)]
    table = [*introduced[:-1], *rows]
    small = sum(candidates[n].words for n in table) <= TABLE_WORDS
    return [table, introduced] if small else [introduced]


def _same_table(one: Candidate, other: Candidate) -> bool:
    return one.place[0] == other.place[0] and one.unit.header == other.unit.header


def _with_introduction(
    i: int, candidates: Sequence[Candidate], places: Mapping[tuple[int, int], int]
) -> list[int]:
    """Return a candidate with its list's lead-in and its table's header, where they are known."""
    candidate = candidates[i]
    before = (candidate.unit.lead, candidate.unit.header)
    found = [(candidate.place[0], at) for at in before if at is not None]
    return [*(places[place] for place in found if place in places), i]


def _unsaid(
    group: Sequence[int], chosen: Sequence[int], candidates: Sequence[Candidate]
) -> list[int]:
    said = {candidates[i].shown for i in chosen}
    return [i for i in group if i not in chosen and candidates[i].shown not in said]


def _reading_order(chosen: Sequence[int], judged: _Judged) -> list[int]:
    """Order by page, the page of the best quote first, and within a page as it is written."""
    pages: dict[str, int] = {}
    for i in chosen:
        pages.setdefault(judged.candidates[i].chunk.page_id, len(pages))

    def place(i: int) -> tuple[int, int, int]:
        candidate = judged.candidates[i]
        return pages[candidate.chunk.page_id], candidate.chunk.ordinal, candidate.unit.start

    return sorted(chosen, key=place)


def _claim(i: int, judged: _Judged) -> Claim:
    candidate = judged.candidates[i]
    cited = Citation(candidate.chunk.id, candidate.quote, float(judged.score[i]))
    return Claim(text=candidate.quote, citations=(cited,))


def _signals(question: str, judged: _Judged, chosen: Sequence[int]) -> dict[str, float]:
    """Return what the gate may know of the quotes; absent where there was no embedder."""
    best = chosen[0]
    page = judged.candidates[best].chunk.page_id
    others = [
        float(judged.score[i])
        for i, candidate in enumerate(judged.candidates)
        if candidate.chunk.page_id != page
    ]
    wanted = asked(question)
    typed = not wanted or any(judged.typed[i] for i in chosen)
    signals = {
        "best_quote_score": float(judged.score[best]),
        "best_quote_coverage": float(judged.coverage.max()),
        "quotes_coverage": _together(question, judged, chosen),
        "lead_over_other_pages": float(judged.score[best]) - max(others, default=0.0),
        "answer_type_missing": 0.0 if typed else 1.0,
    }
    if judged.cosine.any():
        signals["best_quote_cosine"] = float(judged.cosine.max())
    return signals


def _together(question: str, judged: _Judged, chosen: Sequence[int]) -> float:
    """Return which share of the question's words the quotes and their breadcrumbs hold."""
    wanted = frozenset(stems(question))
    said = frozenset[str]().union(
        *(judged.candidates[i].stems | judged.candidates[i].breadcrumb for i in chosen)
    )
    return len(wanted & said) / len(wanted) if wanted else 0.0

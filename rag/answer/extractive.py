"""Answer without a model: quote the best section verbatim, with its key lines marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rag import telemetry
from rag.answer import sections as section_ranking
from rag.answer.excerpt_blocks import blocks_of
from rag.answer.excerpts import Excerpt
from rag.answer.quote_candidates import (
    MAX_CANDIDATES,
    Candidate,
    Floats,
    asks_for_same_type,
    candidates_of,
    coverage_of,
    expected_answer_types,
    has_answer_type,
    shortlist,
)
from rag.answer.sections import (
    SECOND_SECTION_MARGIN,
    Scores,
    Section,
    ShownSections,
    choose_excerpts,
)
from rag.embedding import CachingEmbedder
from rag.ports import Composition, Embedder
from rag.search_scope import Asked
from rag.telemetry import Attributes, describe, span
from rag.text.definitions import defines
from rag.text.words import stems
from rag.types import Citation, Claim, Passage, Vectors

SECTIONS_SCORED_IN_FULL = 2
"""Number of best sections that are scored completely; further ones are hardly ever shown."""

MOST_KEY_LINES = 3
"""Maximum number of marked lines of an answer."""

KEY_LINE_MARGIN = 0.15
"""Maximum distance of a marked line's score from the best line's."""

LONGEST_KEY_LINE = 40
"""Maximum number of words of a marked line: a longer one does not stand out."""

LEAST_COSINE = 0.15
"""Minimum cosine for a text that shares no word with the question; below it, it is unrelated."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each signal; chosen on labelled questions, see docs/confidence.md."""

    cosine: float = 1.0
    coverage: float = 0.5
    passage: float = 0.8
    answer_type: float = 0.1
    heading: float = 0.2
    neighbour: float = 0.12


@dataclass(frozen=True, slots=True)
class _ScoredCandidates:
    """The candidates of one question with their signals; one array element each."""

    candidates: tuple[Candidate, ...]
    cosine: Floats
    coverage: Floats
    typed: Floats
    score: Floats

    @property
    def scores(self) -> Scores:
        units: dict[str, list[tuple[int, int, float]]] = {}
        for candidate, score in zip(self.candidates, self.score, strict=True):
            place = (candidate.unit.start, candidate.unit.end, float(score))
            units.setdefault(candidate.chunk.id, []).append(place)
        return Scores(units)


class ExtractiveComposer:
    """Quotes the section that answers the question; generates no text. Implements ``Composer``.

    Args:
        embedder: None scores by words alone.
        weights: the weight of each signal.
    """

    name: Literal["extractive"] = "extractive"

    def __init__(self, embedder: Embedder | None, weights: Weights | None = None) -> None:
        self._embedder = CachingEmbedder(embedder) if embedder else None
        self._weights = weights or Weights()

    async def compose(
        self,
        question: str,
        passages: Sequence[Passage],
        attached: Sequence[str] = (),  # noqa: ARG002 - only a model can read them
        asked: Asked | None = None,  # noqa: ARG002 - a quotation needs no translation
    ) -> Composition:
        """Return the excerpts of the best section, or of two. Raises ModelUnavailable.

        Passages without score and signals are not search results: they only complete sections.
        """
        with span(telemetry.GENERATION, _generation_attributes(passages)):
            found = [passage for passage in passages if passage.score or passage.signals]
            candidates = candidates_of(found)
            candidates = shortlist(candidates, coverage_of(question, candidates), MAX_CANDIDATES)
            vector = await self._embedded(question)
            judged = await self._judge(question, vector, candidates)
            if not candidates or _is_unrelated(judged):
                return Composition(claims=())
            worths = section_ranking.rank_sections(passages, judged.scores)
            if not worths:
                return Composition(claims=())
            sections = [section for _, section in worths]
            rest = _rest(passages, sections[:SECTIONS_SCORED_IN_FULL], judged)
            if rest:
                judged = await self._judge(question, vector, (*candidates, *rest))
            shown = choose_excerpts(sections, judged.scores)
        with span(telemetry.GROUNDING, {telemetry.COMPOSER: self.name}) as current:
            composition = _composed(
                question, judged, shown, section_ranking.section_signals(worths)
            )
            describe(current, telemetry.of_claims(composition))
            return composition

    async def _judge(
        self, question: str, vector: Vectors | None, candidates: tuple[Candidate, ...]
    ) -> _ScoredCandidates:
        cosine = await self._cosine(vector, candidates)
        coverage = coverage_of(question, candidates)
        wanted = expected_answer_types(question)
        typed = np.array(
            [float(has_answer_type(candidate.shown, wanted)) for candidate in candidates]
        )
        headed = {
            each: asks_for_same_type(question, each) for each in {c.heading for c in candidates}
        }
        weights = self._weights
        score = (
            weights.cosine * cosine
            + weights.coverage * coverage
            + weights.passage * np.array([candidate.passage_score for candidate in candidates])
            + weights.answer_type * typed
            + weights.heading * np.array([float(headed[c.heading]) for c in candidates])
        )
        smooth = _with_neighbours(candidates, score, weights.neighbour)
        return _ScoredCandidates(candidates, cosine, coverage, typed, smooth)

    async def _embedded(self, question: str) -> Vectors | None:
        return await self._embedder.embed_query(question) if self._embedder else None

    async def _cosine(self, vector: Vectors | None, candidates: Sequence[Candidate]) -> Floats:
        if self._embedder is None or vector is None or not candidates:
            return np.zeros(len(candidates))
        vectors = await self._embedder.embed([candidate.in_context for candidate in candidates])
        return np.asarray(vectors @ vector, dtype=np.float64)


def _generation_attributes(passages: Sequence[Passage]) -> Attributes:
    return {telemetry.COMPOSER: ExtractiveComposer.name, telemetry.PASSAGES: len(passages)}


def _is_unrelated(judged: _ScoredCandidates) -> bool:
    return bool(judged.cosine.max() < LEAST_COSINE and judged.coverage.max() == 0)


def _with_neighbours(candidates: Sequence[Candidate], score: Floats, share: float) -> Floats:
    """Raise the score of texts next to a good candidate: answers continue in the next sentence."""
    places = {candidate.place: i for i, candidate in enumerate(candidates)}
    smooth = score.copy()
    for i, candidate in enumerate(candidates):
        rank, at = candidate.place
        beside = [score[places[p]] for p in ((rank, at - 1), (rank, at + 1)) if p in places]
        smooth[i] = (1 - share) * score[i] + share * max(beside, default=0.9 * score[i])
    return smooth


def _rest(
    passages: Sequence[Passage], sections: Sequence[Section], judged: _ScoredCandidates
) -> tuple[Candidate, ...]:
    """Return the sections' other candidates, in page order, within the limit of embeddings."""
    judged_chunks = {candidate.chunk.id for candidate in judged.candidates}
    room = MAX_CANDIDATES - len(judged.candidates)
    candidates: list[Candidate] = []
    rank = len(passages)
    # Two sections may share a chunk.
    chunks = {chunk.id: chunk for section in sections for chunk in section.chunks}
    for chunk in chunks.values():
        if chunk.id not in judged_chunks and len(candidates) < room:
            candidates += candidates_of([Passage(chunk, 0.0, {})], first_rank=rank)
            rank += 1
    return tuple(candidates[:room])


def _composed(
    question: str, judged: _ScoredCandidates, shown: ShownSections, sections: Mapping[str, float]
) -> Composition:
    excerpts = [excerpt for section in shown for excerpt in section]
    held = [_candidates_in(excerpt, judged) for excerpt in excerpts]
    units = [i for each in held for i in each]
    if not units:
        return Composition(claims=())
    decisive = _key_lines(judged, excerpts, held)
    return Composition(
        claims=tuple(
            _claim(excerpt, judged, units, decisive)
            for excerpt, units in zip(excerpts, held, strict=True)
        ),
        signals={**_signals(question, judged, units), **sections, **_defined(question, excerpts)},
    )


def _candidates_in(excerpt: Excerpt, judged: _ScoredCandidates) -> list[int]:
    """Return the indices of an excerpt's candidates, best first."""
    runs = excerpt.runs
    shown = [
        i for i, each in enumerate(judged.candidates) if any(run.holds(*each.at) for run in runs)
    ]
    return sorted(shown, key=lambda i: -judged.score[i])


def _key_lines(
    judged: _ScoredCandidates, excerpts: Sequence[Excerpt], held: Sequence[Sequence[int]]
) -> list[int]:
    """Return the indices of the lines to mark: the best ones, but at most half of a block."""
    if len(excerpts) == 1 and len(excerpts[0].entries) == 1:
        return []
    floor = max(judged.score[i] for units in held for i in units) - KEY_LINE_MARGIN
    found = [
        i
        for excerpt, units in zip(excerpts, held, strict=True)
        for i in [unit for unit in units if _stands_out(judged.candidates[unit])][
            : max(1, len(excerpt.entries) // 2)
        ]
        if judged.score[i] >= floor and excerpt.kind != "code"
    ]
    return sorted(found, key=lambda i: -judged.score[i])[:MOST_KEY_LINES]


def _stands_out(candidate: Candidate) -> bool:
    return candidate.words <= LONGEST_KEY_LINE and candidate.unit.kind != "code"


def _claim(
    excerpt: Excerpt, judged: _ScoredCandidates, units: Sequence[int], decisive: Sequence[int]
) -> Claim:
    """Return a block as a claim with its quotes: all that is shown, then its best line."""
    quotes = [Citation(run.chunk.id, run.quote) for run in excerpt.runs]
    for best in units[:1]:
        candidate = judged.candidates[best]
        quotes.append(Citation(candidate.chunk.id, candidate.quote, float(judged.score[best])))
    marks = [judged.candidates[i].at for i in decisive if i in units]
    return Claim(blocks_of(excerpt, marks), tuple(quotes), excerpt.kind, excerpt.omission)


def _signals(question: str, judged: _ScoredCandidates, units: Sequence[int]) -> dict[str, float]:
    """Return the features for the gate; the cosine is absent without an embedder.

    Features of quotes use the shown lines that are nearly as good as the best one; the words of a
    whole section would hide that none of its lines answers.
    """
    best = max(units, key=lambda i: judged.score[i])
    good = [i for i in units if judged.score[i] >= judged.score[best] - SECOND_SECTION_MARGIN]
    page = judged.candidates[best].chunk.page_id
    others = [
        float(judged.score[i])
        for i, candidate in enumerate(judged.candidates)
        if candidate.chunk.page_id != page
    ]
    wanted = expected_answer_types(question)
    typed = not wanted or any(judged.typed[i] for i in good)
    signals = {
        "best_quote_score": float(judged.score[best]),
        "best_quote_coverage": float(judged.coverage[list(units)].max()),
        "quotes_coverage": _joint_coverage(question, judged, good),
        "section_coverage": _joint_coverage(question, judged, units),
        "lead_over_other_pages": float(judged.score[best]) - max(others, default=0.0),
        "answer_type_missing": 0.0 if typed else 1.0,
    }
    if judged.cosine.any():
        signals["best_quote_cosine"] = float(judged.cosine[list(units)].max())
    return signals


def _defined(question: str, excerpts: Sequence[Excerpt]) -> Mapping[str, float]:
    """Return ``defines_term`` if what is shown defines the term whose meaning is asked for."""
    shown = (run.quote for excerpt in excerpts for run in excerpt.runs)
    return {"defines_term": 1.0} if any(defines(question, text) for text in shown) else {}


def _joint_coverage(question: str, judged: _ScoredCandidates, units: Sequence[int]) -> float:
    """Return the share of the question's words in the lines and their breadcrumbs."""
    said = (judged.candidates[i].stems | judged.candidates[i].breadcrumb for i in units)
    return _share(frozenset(stems(question)), frozenset[str]().union(*said))


def _share(wanted: frozenset[str], held: frozenset[str]) -> float:
    return len(wanted & held) / len(wanted) if wanted else 0.0

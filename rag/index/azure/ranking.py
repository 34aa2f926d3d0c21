"""Puts what the service found in order, with every signal it gave. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag.index.azure.documents import Read, chunk_of
from rag.index.azure.reranker import SCORE
from rag.index.azure.schema import EMBEDDING
from rag.index.fusion import COMPARED, Candidate, Ranked, Weights, fuse, refine, spread
from rag.index.pairs import shared_pairs
from rag.types import Passage

_BEYOND = -1.0
"""The cosine of a chunk that has a vector, but not one of the nearest: less than theirs."""

_BEST_RERANKED = 4.0
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class _Scores:
    """What each search made of a document; None where it did not find it."""

    keyword: float | None
    vector: float | None
    reranker: float | None


def ranked_passages(
    question: str,
    documents: Sequence[Read],
    weights: Weights,
    *,
    hybrid: bool,
    ranker: bool = False,
) -> tuple[Passage, ...]:
    """Return all documents as passages, best first.

    Those that the semantic ranker judged come first, by its score; then all others, by words and
    meaning together. Where it judged none, the best are compared by the question's word pairs too.
    The service's own fused score tells ranks only, and is not used. Where the ``ranker`` is
    wanted, those that it did not judge say so by a signal.
    """
    scores = [_scores(document, hybrid=hybrid) for document in documents]
    candidates = _candidates(documents, scores)
    fused = fuse(candidates, weights)
    judged = [score.reranker for score in scores]
    if any(score is not None for score in judged):
        places = spread(_reranked(fused, judged))
    else:
        places = spread(_compared(question, fused, documents, weights))
    return tuple(
        _passage(documents[number], place, scores[number], ranker=ranker)
        for place in places
        for number in [place.candidate.chunk]
    )


def _scores(document: Read, *, hybrid: bool) -> _Scores:
    reranker = document.get(SCORE)
    if not hybrid:
        return _Scores(document["@search.score"], None, reranker)
    subscores = _subscores(document)
    text = (subscores.get("text") or {}).get("searchScore")
    return _Scores(text or None, _cosine(subscores.get("vectors") or ()), reranker)


def _subscores(document: Read) -> Mapping[str, Any]:
    debugged = document.get("@search.documentDebugInfo") or {}
    subscores: Mapping[str, Any] = (debugged.get("vectors") or {}).get("subscores") or {}
    return subscores


def _cosine(vectors: Sequence[Mapping[str, Any]]) -> float | None:
    for vector in vectors:
        found = vector.get(EMBEDDING) or {}
        if found.get("vectorSimilarity") is not None:
            return float(found["vectorSimilarity"])
        if found.get("searchScore"):
            return 2 - 1 / float(found["searchScore"])
    return None


def _candidates(documents: Sequence[Read], scores: Sequence[_Scores]) -> list[Candidate]:
    ids = [str(document["id"]) for document in documents]
    by_word = _ranks(ids, [score.keyword for score in scores])
    near = _ranks(ids, [score.vector for score in scores])
    hybrid = bool(near)
    pages: dict[tuple[str, str], int] = {}
    found: list[Candidate] = []
    for number, document in enumerate(documents):
        place = (document["space"], document["page_id"])
        cosine = scores[number].vector
        if cosine is None and hybrid and document["embedded"]:
            cosine = _BEYOND
        found.append(
            Candidate(
                chunk=number,
                id=ids[number],
                page=(pages.setdefault(place, len(pages)), document["document_page"]),
                keyword=scores[number].keyword,
                vector=cosine,
                keyword_rank=by_word.get(number),
                vector_rank=near.get(number),
            )
        )
    return found


def _ranks(ids: Sequence[str], scores: Sequence[float | None]) -> Mapping[int, int]:
    """Return the place of each by its score, from 1; equal ones in the order of their ids."""
    known = [
        (-score, ids[number], number) for number, score in enumerate(scores) if score is not None
    ]
    return {number: rank for rank, (_, _, number) in enumerate(sorted(known), start=1)}


def _reranked(fused: Sequence[Ranked], scores: Sequence[float | None]) -> list[Ranked]:
    judged = [
        replace(place, score=1.0 + round(score / _BEST_RERANKED, _DIGITS))
        for place in fused
        for score in [scores[place.candidate.chunk]]
        if score is not None
    ]
    others = [place for place in fused if scores[place.candidate.chunk] is None]
    return sorted(judged, key=lambda place: -place.score) + others


def _compared(
    question: str, fused: list[Ranked], documents: Sequence[Read], weights: Weights
) -> list[Ranked]:
    best, others = fused[:COMPARED], fused[COMPARED:]
    texts = {place.candidate.chunk: _text(documents[place.candidate.chunk]) for place in best}
    pairs = shared_pairs(question, texts)
    return refine(best, {}, pairs, weights) + others if pairs else fused


def _text(document: Read) -> str:
    return "\n".join((*document["breadcrumb"], document["content"]))


def _passage(document: Read, place: Ranked, scores: _Scores, *, ranker: bool) -> Passage:
    found = place.candidate
    unjudged = ranker and scores.reranker is None
    signals = {
        "keyword": scores.keyword,
        "vector": scores.vector,
        "keyword_rank": found.keyword_rank,
        "vector_rank": found.vector_rank,
        "fused": place.fused,
        "pairs": place.pairs,
        "reranker": scores.reranker,
        "reranker_absent": 1.0 if unjudged else None,
    }
    known = {name: float(value) for name, value in signals.items() if value is not None}
    return Passage(chunk=chunk_of(document), score=place.score, signals=known)

"""Retrieve passages: one hybrid request filtered by permissions, then ranking and reranking.

Keyword and vector search are requested together. The service's semantic ranker is optional, charged
for and limited in capacity; where it does not answer, the fused order is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from azure.search.documents.models import VectorizedQuery

from rag.errors import IndexUnavailable
from rag.index.azure.connection import NO_RETRIES, Connection, IndexAbsent, RequestRefused
from rag.index.azure.documents import CHUNK, CHUNK_FIELDS, Facts, StoredDocument, chunk_of
from rag.index.azure.queries import (
    SearchResult,
    all_of,
    equals,
    find,
    holds,
    none_of,
    not_before,
    one_of,
)
from rag.index.azure.schema import EMBEDDING, SEARCHED, SEMANTIC, readable_by
from rag.index.hybrid_search import (
    RERANKED,
    Candidate,
    FusionWeights,
    Ranked,
    fuse,
    limit_per_page,
    query_terms,
    rerank,
    shared_word_pairs,
)
from rag.retrying import Deadline
from rag.types import Passage, Principal, Question

log = structlog.get_logger(__name__)

_PAUSE_SECONDS = 60.0
"""Pause after a rejection; each failed attempt costs the user a request."""

_LOGGED_EVERY_SECONDS = 60.0

RERANKER_SCORE = "@search.rerankerScore"


class Reranker:
    """The service's semantic ranker: optional, charged for, limited in capacity.

    Without it, passages have the signal ``reranker_absent`` in place of ``reranker``, and one log
    line per minute gives the reason.
    """

    def __init__(self, *, wanted: bool) -> None:
        self.wanted = wanted
        self._pausing_until = 0.0
        self._silent_until = 0.0
        self._unsaid = 0

    @property
    def ready(self) -> bool:
        return self.wanted and asyncio.get_running_loop().time() >= self._pausing_until

    def refused(self, error: IndexUnavailable) -> None:
        """Record that a search failed with the ranker and succeeded without; pause its use."""
        self._pausing_until = asyncio.get_running_loop().time() + _PAUSE_SECONDS
        status = error.status if isinstance(error, RequestRefused) else None
        self._say("refused", status)

    def answered(self, found: SearchResult) -> None:
        """Record the outcome of using the ranker."""
        missing = any(document.get(RERANKER_SCORE) is None for document in found.documents)
        if found.partial or missing:
            self._say(found.partial or "no scores", None)

    def _say(self, reason: str, status: int | None) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._silent_until:
            self._unsaid += 1
            return
        log.warning(
            "index.reranker_absent", reason=reason, status=status, not_logged_before=self._unsaid
        )
        self._silent_until, self._unsaid = now + _LOGGED_EVERY_SECONDS, 0


_NOT_FOUND_COSINE = -1.0
"""Cosine of a chunk whose vector is not among the nearest: below all of theirs."""

_BEST_RERANKED = 4.0
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class _Scores:
    """The scores of a document in each search; None where the search did not find it."""

    keyword: float | None
    vector: float | None
    reranker: float | None


def ranked_passages(
    question: str,
    documents: Sequence[StoredDocument],
    weights: FusionWeights,
    *,
    hybrid: bool,
    ranker: bool = False,
) -> tuple[Passage, ...]:
    """Return all documents as passages, best first.

    Documents ranked by the semantic ranker come first, by its score; then all others, by keyword
    and vector scores together. Where it ranked none, the best are also compared by the question's
    word pairs. The service's own fused score depends on ranks only, and is not used. Where the
    ``ranker`` is enabled, passages that it did not rank carry a signal.
    """
    scores = [_scores(document, hybrid=hybrid) for document in documents]
    candidates = _candidates(documents, scores)
    fused = fuse(candidates, weights)
    judged = [score.reranker for score in scores]
    if any(score is not None for score in judged):
        places = limit_per_page(_reranked(fused, judged))
    else:
        places = limit_per_page(_compared(question, fused, documents, weights))
    return tuple(
        _passage(documents[number], place, scores[number], ranker=ranker)
        for place in places
        for number in [place.candidate.chunk]
    )


def _scores(document: StoredDocument, *, hybrid: bool) -> _Scores:
    reranker = document.get(RERANKER_SCORE)
    if not hybrid:
        return _Scores(document["@search.score"], None, reranker)
    subscores = _subscores(document)
    text = (subscores.get("text") or {}).get("searchScore")
    return _Scores(text or None, _cosine(subscores.get("vectors") or ()), reranker)


def _subscores(document: StoredDocument) -> Mapping[str, Any]:
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


def _candidates(documents: Sequence[StoredDocument], scores: Sequence[_Scores]) -> list[Candidate]:
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
            cosine = _NOT_FOUND_COSINE
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
    """Return the rank of each id by its score, from 1; ties in the order of their ids."""
    known = [
        (-score, ids[number], number) for number, score in enumerate(scores) if score is not None
    ]
    return {number: rank for rank, (_, _, number) in enumerate(sorted(known), start=1)}


def _reranked(fused: Sequence[Ranked], scores: Sequence[float | None]) -> list[Ranked]:
    judged = [
        place._replace(score=1.0 + round(score / _BEST_RERANKED, _DIGITS))
        for place in fused
        for score in [scores[place.candidate.chunk]]
        if score is not None
    ]
    others = [place for place in fused if scores[place.candidate.chunk] is None]
    return sorted(judged, key=lambda place: -place.score) + others


def _compared(
    question: str, fused: list[Ranked], documents: Sequence[StoredDocument], weights: FusionWeights
) -> list[Ranked]:
    best, others = fused[:RERANKED], fused[RERANKED:]
    texts = {place.candidate.chunk: _text(documents[place.candidate.chunk]) for place in best}
    pairs = shared_word_pairs(question, texts)
    return rerank(best, {}, pairs, weights) + others if pairs else fused


def _text(document: StoredDocument) -> str:
    return "\n".join((*document["breadcrumb"], document["content"]))


def _passage(document: StoredDocument, place: Ranked, scores: _Scores, *, ranker: bool) -> Passage:
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


CANDIDATES = 50
"""Number of candidates ranked: as many as the semantic ranker takes."""

_LONGEST_QUESTION = 1000
_RERANKER_WAIT_MS = 1500
_RERANKED_SHARE = 0.5
"""Share of a search's deadline for the ranker: the rest is for searching without it."""


class Retriever:
    """Searches the index that the given facts name."""

    def __init__(self, connection: Connection, reranker: Reranker, weights: FusionWeights) -> None:
        self._connection = connection
        self._reranker = reranker
        self._weights = weights

    async def search(
        self, facts: Facts, question: Question, readers: frozenset[Principal], k: int
    ) -> tuple[Passage, ...]:
        """Implement rag.ports.Index.search in one index."""
        found = query_terms(question.text)
        if not found or k < 1 or not readers or question.spaces == frozenset():
            return ()
        parts = _search_parts(facts, question, found, max(k, CANDIDATES))
        parts["filter"] = permission_filter(question, readers)
        answer = await self._ask(facts.index, question, parts)
        passages = ranked_passages(
            question.text,
            answer.documents,
            self._weights,
            hybrid="vector_queries" in parts,
            ranker=self._reranker.wanted,
        )
        return passages[:k]

    async def _ask(self, index: str, question: Question, parts: dict[str, Any]) -> SearchResult:
        if not self._reranker.ready:
            return await find(self._connection, index, **parts)
        deadline = Deadline(self._connection.timeout_seconds)
        try:
            answer = await find(
                self._connection,
                index,
                policy=NO_RETRIES,
                seconds=_RERANKED_SHARE * deadline.seconds,
                **parts,
                **_semantic(question),
            )
        except IndexAbsent:
            raise
        except IndexUnavailable as error:
            left = deadline.remaining_seconds
            answer = await find(self._connection, index, seconds=left, **parts)
            # Succeeded without the ranker, so the ranker was the cause of the rejection.
            self._reranker.refused(error)
            return answer
        self._reranker.answered(answer)
        return answer


def simple_query(found: tuple[str, ...]) -> str:
    """Return words as a query in the service's simple syntax, without operators."""
    return " ".join(map(escaped, found))


def escaped(word: str) -> str:
    """Return a word without operators of the simple and the full syntax."""
    return "".join(sign if sign.isalnum() or sign == "_" else f"\\{sign}" for sign in word)


def _search_parts(
    facts: Facts, question: Question, found: tuple[str, ...], top: int
) -> dict[str, Any]:
    """Return the search arguments for keywords, and for vectors where both sides have them."""
    parts: dict[str, Any] = {
        "search_text": simple_query(found),
        "search_fields": [*SEARCHED],
        "search_mode": "any",
        "scoring_statistics": "global",  # otherwise scores differ between replicas
        "select": [*CHUNK_FIELDS, "embedded"],
        "top": top,
    }
    if question.vector is None or not facts.embedder:
        return parts
    nearest = VectorizedQuery(
        vector=question.vector.tolist(), k_nearest_neighbors=top, fields=EMBEDDING
    )
    return parts | {
        "vector_queries": [nearest],
        "vector_filter_mode": "preFilter",
        "debug": "vector",
    }


def _semantic(question: Question) -> dict[str, Any]:
    text = question.text.encode("utf-8", "replace").decode()
    return {
        "query_type": "semantic",
        "semantic_configuration_name": SEMANTIC,
        "semantic_query": text[:_LONGEST_QUESTION],
        "semantic_error_mode": "partial",
        "semantic_max_wait_in_milliseconds": _RERANKER_WAIT_MS,
    }


def permission_filter(question: Question, readers: frozenset[Principal]) -> str:
    """Return the filter for what the user may find; it applies to both searches."""
    return all_of(
        equals("kind", CHUNK),
        equals("tenant", question.tenant),
        None if question.spaces is None else one_of("space", question.spaces),
        None if question.source_type is None else equals("source_type", question.source_type),
        none_of("page_id", question.excluded_pages) if question.excluded_pages else None,
        None if question.label is None else holds("labels", question.label),
        None
        if question.changed_since is None
        else not_before("updated_at", question.changed_since),
        readable_by(readers),
    )

"""Finds passages: one request for words and meaning together, permissions inside."""

from __future__ import annotations

from typing import Any

from azure.search.documents.models import VectorizedQuery

from rag.errors import IndexUnavailable
from rag.index.azure.connection import ONCE, Connection
from rag.index.azure.documents import CHUNK, CHUNK_FIELDS, Facts
from rag.index.azure.errors import IndexAbsent
from rag.index.azure.filters import both, equals, none_of, one_of
from rag.index.azure.permissions import readable_by
from rag.index.azure.queries import Found, find
from rag.index.azure.ranking import ranked_passages
from rag.index.azure.reranker import Reranker
from rag.index.azure.schema import EMBEDDING, SEARCHED, SEMANTIC
from rag.index.fusion import Weights
from rag.index.keywords import keywords
from rag.retrying import Deadline
from rag.types import Passage, Principal, Question

CANDIDATES = 50
"""How many are ordered: as many as the semantic ranker takes."""

_LONGEST_QUESTION = 1000
_RERANKER_WAIT_MS = 1500
_RERANKED_SHARE = 0.5
"""Of a search's deadline: what is left is for searching without the ranker."""


class Retriever:
    """Searches the index that the facts name."""

    def __init__(self, connection: Connection, reranker: Reranker, weights: Weights) -> None:
        self._connection = connection
        self._reranker = reranker
        self._weights = weights

    async def search(
        self, facts: Facts, question: Question, readers: frozenset[Principal], k: int
    ) -> tuple[Passage, ...]:
        """Do what rag.ports.Index.search says, in one index."""
        found = keywords(question.text)
        if not found or k < 1 or not readers or question.spaces == frozenset():
            return ()
        parts = _parts(facts, question, found, max(k, CANDIDATES))
        parts["filter"] = _permitted(question, readers)
        answer = await self._ask(facts.index, question, parts)
        passages = ranked_passages(
            question.text,
            answer.documents,
            self._weights,
            hybrid="vector_queries" in parts,
            ranker=self._reranker.wanted,
        )
        return passages[:k]

    async def _ask(self, index: str, question: Question, parts: dict[str, Any]) -> Found:
        if not self._reranker.ready:
            return await find(self._connection, index, **parts)
        deadline = Deadline(self._connection.timeout_seconds)
        try:
            answer = await find(
                self._connection,
                index,
                policy=ONCE,
                seconds=_RERANKED_SHARE * deadline.seconds,
                **parts,
                **_semantic(question),
            )
        except IndexAbsent:
            raise
        except IndexUnavailable as error:
            left = deadline.remaining_seconds
            answer = await find(self._connection, index, seconds=left, **parts)
            # It answers without the ranker: the ranker was what it would not do.
            self._reranker.refused(error)
            return answer
        self._reranker.answered(answer)
        return answer


def simple_query(found: tuple[str, ...]) -> str:
    """Return words as a query in the service's simple syntax, with nothing read as an operator."""
    return " ".join(
        "".join(sign if sign.isalnum() or sign == "_" else f"\\{sign}" for sign in word)
        for word in found
    )


def _parts(facts: Facts, question: Question, found: tuple[str, ...], top: int) -> dict[str, Any]:
    """Return the search by words, and by meaning where both sides have vectors."""
    parts: dict[str, Any] = {
        "search_text": simple_query(found),
        "search_fields": [*SEARCHED],
        "search_mode": "any",
        "scoring_statistics": "global",  # or the same words score otherwise in another replica
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


def _permitted(question: Question, readers: frozenset[Principal]) -> str:
    """Return the filter for what this asker may find; both searches are inside it."""
    return both(
        equals("kind", CHUNK),
        equals("tenant", question.tenant),
        None if question.spaces is None else one_of("space", question.spaces),
        none_of("page_id", question.excluded_pages) if question.excluded_pages else None,
        readable_by(readers),
    )

"""Question in, answer out: search within the readers' bounds, then compose from what was found."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from rag import telemetry
from rag.confidence import features
from rag.embedding import embed_question
from rag.errors import ModelUnavailable, after_calls
from rag.ports import (
    Composer,
    Composition,
    Embedder,
    Index,
    KnowsVocabulary,
    ReadsAttached,
    Vocabulary,
)
from rag.telemetry import Attributes, describe, span
from rag.types import Answer, Passage, Principal, Question, Vectors
from rag.words import content_words

log = structlog.get_logger(__name__)

NEIGHBOURS_OF = 2
"""How many of the best passages are read together with the text around them."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Within which bounds a question may be answered."""

    tenant: str
    readers: frozenset[Principal]
    spaces: frozenset[str] | None = None
    excluded_pages: frozenset[str] = frozenset()

    def question(self, text: str) -> Question:
        """Return a question that asks within these bounds."""
        return Question(
            text=text,
            tenant=self.tenant,
            spaces=self.spaces,
            excluded_pages=self.excluded_pages,
        )


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found, best first, and how long the search took."""

    question: str
    passages: tuple[Passage, ...]
    timings_ms: Mapping[str, float] = field(default_factory=dict)


class Pipeline:
    """Retrieval and composition over one index; keeps nothing between questions.

    Args:
        index: where chunks are found.
        embedder: None means keyword search alone.
        composer: turns passages into quoted claims.
        top_k: how many passages an answer may rest on.
        similarity_floor: cosine below which a passage without a keyword match says nothing;
            when no passage is above it nothing is composed and no model is asked.
    """

    def __init__(
        self,
        index: Index,
        embedder: Embedder | None,
        composer: Composer,
        *,
        top_k: int = 5,
        similarity_floor: float = 0.2,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._composer = composer
        self._top_k = top_k
        self._floor = similarity_floor

    async def retrieve(self, question: str, scope: Scope, *, k: int | None = None) -> Retrieval:
        """Return the passages for a question. Raises IndexUnavailable.

        An embedder that does not answer leaves search to the words alone, which the gate sees by
        the signals that are absent.
        """
        wanted = k or self._top_k
        with span(telemetry.RETRIEVAL, _searched(wanted)) as current:
            retrieval = await self._search(question, scope, wanted)
            describe(current, _found(retrieval))
            return retrieval

    async def holds(self, tenant: str) -> bool:
        """Tell whether anything is indexed, whoever may read it. Raises IndexUnavailable."""
        return bool(await self._index.spaces(tenant))

    async def _search(self, question: str, scope: Scope, k: int) -> Retrieval:
        started = time.perf_counter()
        vector, tokens = await self._embedded(question)
        embedded = time.perf_counter()
        passages = await self._index.search(
            replace(scope.question(question), vector=vector, tokens=tokens),
            scope.readers,
            k,
        )
        timings = {
            "embed": (embedded - started) * 1000,
            "search": (time.perf_counter() - embedded) * 1000,
        }
        return Retrieval(question=question, passages=passages, timings_ms=timings)

    async def _embedded(self, question: str) -> tuple[Vectors | None, Vectors | None]:
        try:
            return await embed_question(self._embedder, question)
        except ModelUnavailable as error:
            log.warning("retrieval.by_words_alone", why=str(error))
            return None, None

    def speaks(self, retrieval: Retrieval) -> bool:
        """Whether anything found is worth reading."""
        return any(
            passage.signals.get("vector", 0.0) >= self._floor or "keyword" in passage.signals
            for passage in retrieval.passages
        )

    async def compose(
        self, retrieval: Retrieval, scope: Scope, attached: Sequence[str] = ()
    ) -> Answer:
        """Answer from the passages alone. ``attached`` are files that the question came with.

        Raises ModelUnavailable or ModelAnswerInvalid when the composer's model fails.
        """
        if not self.speaks(retrieval):
            return _silence(retrieval)
        started = time.perf_counter()
        context = await self._widen(retrieval.passages, scope)
        composition, vocabulary = await _both(
            self._composed(retrieval.question, context, attached),
            self._vocabulary(retrieval.question, scope),
        )
        composed = time.perf_counter()
        judged = features(retrieval.question, retrieval.passages, composition, vocabulary)
        return Answer(
            question=retrieval.question,
            claims=composition.claims,
            passages=context,
            features=judged,
            composer=self._composer.name,
            calls=composition.calls,
            timings_ms={
                **retrieval.timings_ms,
                "compose": (composed - started) * 1000,
                "features": (time.perf_counter() - composed) * 1000,
            },
            refusal=composition.refusal,
            dropped_claims=composition.dropped_claims,
            reading=composition.reading,
            missing=composition.missing,
        )

    async def _composed(
        self, question: str, passages: tuple[Passage, ...], attached: Sequence[str]
    ) -> Composition:
        if attached and isinstance(self._composer, ReadsAttached):
            return await self._composer.compose_with(question, passages, attached)
        return await self._composer.compose(question, passages)

    async def _widen(self, passages: tuple[Passage, ...], scope: Scope) -> tuple[Passage, ...]:
        """Add the text around the best passages, so that procedures are read whole."""
        if self._composer.name != "model":
            return passages
        seen = {passage.chunk.id for passage in passages}
        around = []
        for passage in passages[:NEIGHBOURS_OF]:
            for chunk in await self._index.neighbours(passage.chunk.id, scope.readers):
                if chunk.id not in seen:
                    seen.add(chunk.id)
                    around.append(Passage(chunk=chunk, score=0.0, signals={}))
        return (*passages, *around)

    async def _vocabulary(self, question: str, scope: Scope) -> Vocabulary | None:
        if not isinstance(self._index, KnowsVocabulary):
            return None
        return await self._index.vocabulary(
            scope.question(question), scope.readers, content_words(question)
        )


async def _both(
    composed: Awaitable[Composition], known: Awaitable[Vocabulary | None]
) -> tuple[Composition, Vocabulary | None]:
    """Await both to their end: what a model took counts also when the index fails meanwhile."""
    composition, vocabulary = await asyncio.gather(composed, known, return_exceptions=True)
    if isinstance(composition, BaseException):
        raise composition
    with after_calls(composition.calls):
        if isinstance(vocabulary, BaseException):
            raise vocabulary
    return composition, vocabulary


def _searched(wanted: int) -> Attributes:
    return {telemetry.OPERATION_NAME: "retrieval", telemetry.RETRIEVAL_WANTED: wanted}


def _found(retrieval: Retrieval) -> Attributes:
    return {
        telemetry.RETRIEVAL_FOUND: len(retrieval.passages),
        telemetry.RETRIEVAL_EMBED_MS: retrieval.timings_ms["embed"],
        telemetry.RETRIEVAL_SEARCH_MS: retrieval.timings_ms["search"],
    }


def _silence(retrieval: Retrieval) -> Answer:
    nothing = Composition(claims=())
    return Answer(
        question=retrieval.question,
        claims=(),
        passages=retrieval.passages,
        features=features(retrieval.question, retrieval.passages, nothing, None),
        composer="none",
        timings_ms=dict(retrieval.timings_ms),
    )

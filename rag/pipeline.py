"""Answer a question: search within the asker's permissions, then compose from what was found."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from rag import telemetry
from rag.answer.confidence import features
from rag.answer.sections import section_of
from rag.embedding import QuestionVector, embed_question
from rag.errors import IndexUnavailable, ModelUnavailable, after_calls
from rag.ports import Composer, Composition, Embedder, SearchIndex, Vocabulary
from rag.search_planning import SearchPlanner
from rag.search_scope import Asked, PlannedSearch, Scope
from rag.telemetry import Attributes, describe, span
from rag.text.definitions import asked_term, defined_terms
from rag.text.spelling import MOST_WORDS, likely_spelling, respelled, spelled_words
from rag.text.words import content_words, stems
from rag.types import Answer, Chunk, ModelCall, Passage, Vectors

log = structlog.get_logger(__name__)

SECTIONS_FOR_MODEL, MOST_ADDED = 2, 12
"""The best passages whose whole section is sent to a model; the most chunks added by that."""

BROAD_WORDS = 2
"""A question of so many content words, or fewer, may be about pages besides those found best."""

_SEARCHED_FOR_BROAD = 30
"""Passages to search for a broad question; those after the usual number show what else it names."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The passages found for a question, best first, and the duration of the search.

    ``question`` is what was searched for; ``corrected``: its spelling is not as it was typed.
    ``searches`` are those that a model made after the first, ``calls`` its calls for them, and
    ``notes`` say why there may be none. ``vector`` is the question's, None for keywords alone.
    ``further`` is the best passage of each other page whose title has all words of a broad one.
    """

    question: str
    passages: tuple[Passage, ...]
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    searches: tuple[PlannedSearch, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    notes: tuple[str, ...] = ()
    corrected: bool = False
    vector: QuestionVector | None = None
    further: tuple[Passage, ...] = ()

    @property
    def chunk_ids(self) -> frozenset[str]:
        return frozenset(passage.chunk.id for passage in self.passages)


class Pipeline:
    """Retrieve passages from one index and compose answers; keeps no state between questions.

    Args:
        index: the index to search.
        embedder: None for keyword search alone.
        composer: turns passages into quoted claims.
        top_k: the number of passages to retrieve.
        similarity_floor: the cosine below which a passage without a keyword match is irrelevant;
            if all passages are, nothing is composed and no model is called.
        planner: lets a model search again after each first search; None searches once.
        is_word: whether a word is common English, whose spelling is right although the index does
            not hold it; None leaves questions as they were typed.
    """

    def __init__(
        self,
        index: SearchIndex,
        embedder: Embedder | None,
        composer: Composer,
        *,
        top_k: int = 5,
        similarity_floor: float = 0.2,
        planner: SearchPlanner | None = None,
        is_word: Callable[[str], bool] | None = None,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._composer = composer
        self._top_k = top_k
        self._floor = similarity_floor
        self._planner = planner
        self._is_word = is_word

    def without_planning(self) -> Pipeline:
        """Return this pipeline with the first search alone, which calls no model."""
        return Pipeline(
            self._index,
            self._embedder,
            self._composer,
            top_k=self._top_k,
            similarity_floor=self._floor,
            is_word=self._is_word,
        )

    async def retrieve(self, typed: str, scope: Scope, *, corrects: bool = True) -> Retrieval:
        """Return the passages for a question, its spelling corrected if ``corrects``.

        If the embedder is unavailable, the search uses keywords alone; the gate notices by the
        missing vector signals. Raises IndexUnavailable.
        """
        started = time.perf_counter()
        question = await self.respell(typed, scope) if corrects else typed
        spelling = {"spelling": (time.perf_counter() - started) * 1000} if corrects else {}
        broad = 0 < len(content_words(question)) <= BROAD_WORDS
        wanted = max(self._top_k, _SEARCHED_FOR_BROAD) if broad else self._top_k
        first = await self._search_once(question, scope, wanted)
        best = first.passages[: self._top_k]
        first = replace(
            first,
            passages=_definition_first(question, best),
            further=_named_further(question, best, first.passages[self._top_k :]),
            timings_ms={**spelling, **first.timings_ms},
            corrected=question != typed,
        )
        # Without passages of the first search the gate would have nothing to judge by.
        if self._planner is None or not first.passages:
            return first
        return await self._planned(first, scope, self._planner)

    async def _planned(self, first: Retrieval, scope: Scope, planner: SearchPlanner) -> Retrieval:
        started = time.perf_counter()
        plan = await planner.plan(
            first.question, first.passages, await self._spaces(scope), scope, self._relevant
        )
        return replace(
            first,
            passages=plan.passages,
            timings_ms={**first.timings_ms, "plan": (time.perf_counter() - started) * 1000},
            searches=plan.searches,
            calls=plan.calls,
            notes=plan.notes,
        )

    async def _relevant(self, query: str, scope: Scope) -> tuple[Passage, ...]:
        """Return what a search of a model finds above the similarity floor."""
        found = await self._search_once(query, scope, self._top_k)
        return tuple(filter(self._is_relevant, found.passages))

    async def _spaces(self, scope: Scope) -> list[str]:
        """Return the keys of the spaces that may be searched; none if they can't be listed."""
        try:
            listed = await self._index.space_summaries(scope.tenant, scope.readers)
        except IndexUnavailable:
            return []
        keys = [each.space for each in listed]
        return [key for key in keys if scope.spaces is None or key in scope.spaces]

    async def _search_once(self, question: str, scope: Scope, wanted: int) -> Retrieval:
        searched: Attributes = {
            telemetry.OPERATION_NAME: "retrieval",
            telemetry.RETRIEVAL_WANTED: wanted,
        }
        with span(telemetry.RETRIEVAL, searched) as current:
            started = time.perf_counter()
            vector, tokens = await self._embed(question)
            embedded = time.perf_counter()
            passages = await self._index.search(
                replace(scope.question(question), vector=vector, tokens=tokens),
                scope.readers,
                wanted,
            )
            embed_ms = (embedded - started) * 1000
            search_ms = (time.perf_counter() - embedded) * 1000
            found: Attributes = {
                telemetry.RETRIEVAL_FOUND: len(passages),
                telemetry.RETRIEVAL_EMBED_MS: embed_ms,
                telemetry.RETRIEVAL_SEARCH_MS: search_ms,
            }
            describe(current, found)
            return Retrieval(
                question,
                passages,
                {"embed": embed_ms, "search": search_ms},
                vector=self._recorded(vector),
            )

    def _recorded(self, vector: Vectors | None) -> QuestionVector | None:
        if vector is None or self._embedder is None:
            return None
        return QuestionVector.of(self._embedder.name, vector)

    async def respell(self, question: str, scope: Scope) -> str:
        """Return a question with its mistyped words as chunks within the scope spell them.

        A word is mistyped if no such chunk holds it in any form, it is not common English, and one
        spelling in those chunks is likelier than all others. The question stays as it was typed if
        the index can't tell.
        """
        if self._is_word is None:
            return question
        words = [word for word in spelled_words(question) if not self._is_word(word)]
        if not words or len(words) > MOST_WORDS:
            return question
        asked = scope.question(question)
        try:
            similar = await self._index.similar_words(asked, scope.readers, words)
        except IndexUnavailable as error:
            log.warning("retrieval.spelling_as_typed", why=str(error))
            return question
        likely = {word: likely_spelling(spellings) for word, spellings in similar.items()}
        return respelled(question, {word: right for word, right in likely.items() if right})

    async def names_something(self, question: str, scope: Scope) -> bool:
        """Return whether most words of a question name titles, headings or terms within the scope.

        False for more than MOST_WORDS content words, which would be looked up one by one. Raises
        IndexUnavailable.
        """
        if len(content_words(question)) > MOST_WORDS:
            return False
        spelled = await self.respell(question, scope)
        words = asked_term(spelled) or frozenset(stems(spelled))
        asked = scope.question(spelled)
        named = await self._index.name_in(asked, scope.readers, content_words(spelled))
        return 2 * len(named & words) > len(words)

    async def has_pages(self, tenant: str) -> bool:
        """Return whether a tenant has indexed pages, whoever may read them.

        Raises IndexUnavailable.
        """
        return bool(await self._index.spaces(tenant))

    async def _embed(self, question: str) -> tuple[Vectors | None, Vectors | None]:
        try:
            return await embed_question(self._embedder, question)
        except ModelUnavailable as error:
            log.warning("retrieval.by_words_alone", why=str(error))
            return None, None

    def has_relevant_passage(self, retrieval: Retrieval) -> bool:
        """Return whether a passage has a keyword match or a cosine above the similarity floor."""
        return any(map(self._is_relevant, retrieval.passages))

    def _is_relevant(self, passage: Passage) -> bool:
        # What only a model's own search found was held against the floor there.
        return (
            passage.signals.get("vector", 0.0) >= self._floor
            or "keyword" in passage.signals
            or "planned" in passage.signals
        )

    async def compose(
        self,
        retrieval: Retrieval,
        scope: Scope,
        attached: Sequence[str] = (),
        asked: Asked | None = None,
    ) -> Answer:
        """Answer from the passages alone; ``attached`` are the texts of the question's files.

        ``asked`` are the words that the question is a translation of, if it is one.

        Raises ModelUnavailable or ModelAnswerInvalid when the composer's model fails, and
        IndexUnavailable.
        """
        if not self.has_relevant_passage(retrieval):
            return _no_answer(retrieval)
        started, question = time.perf_counter(), retrieval.question
        with after_calls(retrieval.calls):
            context = await self._widen(retrieval.passages, scope)
        with after_calls(retrieval.calls):
            composition, vocabulary = await _gather_to_the_end(
                self._composer.compose(question, context, attached, asked),
                self._index.vocabulary(
                    scope.question(question), scope.readers, content_words(question)
                ),
            )
        composed = time.perf_counter()
        judged = features(question, retrieval.passages, composition, vocabulary)
        return Answer(
            question=retrieval.question,
            claims=composition.claims,
            passages=_read(context, composition),
            features=judged,
            composer=self._composer.name,
            calls=(*retrieval.calls, *composition.calls),
            timings_ms={
                **retrieval.timings_ms,
                "compose": (composed - started) * 1000,
                "features": (time.perf_counter() - composed) * 1000,
            },
            refusal=composition.refusal,
            dropped_claims=composition.dropped_claims,
            reading=composition.reading,
            missing=composition.missing,
            translation=composition.translation,
        )

    async def _widen(self, passages: tuple[Passage, ...], scope: Scope) -> tuple[Passage, ...]:
        """Add the other chunks of the best passages' sections, so that sections are read whole.

        For a model, those of the best SECTIONS_FOR_MODEL passages, at most MOST_ADDED chunks; for
        the extractive composer, which may quote any of them, those of all passages.
        """
        model = self._composer.name == "model"
        best = passages[:SECTIONS_FOR_MODEL] if model else passages
        pages = await self._pages(best, scope)
        whole = [
            chunk for passage in best for chunk in section_of(passage.chunk, pages[_page(passage)])
        ]
        seen = {passage.chunk.id for passage in passages}
        added = {chunk.id: chunk for chunk in whole if chunk.id not in seen}
        around = list(added.values())[: MOST_ADDED if model else None]
        return (*passages, *(Passage(chunk=chunk, score=0.0, signals={}) for chunk in around))

    async def _pages(
        self, passages: Sequence[Passage], scope: Scope
    ) -> Mapping[tuple[str, str], tuple[Chunk, ...]]:
        """Return the readable chunks of each passage's page, by (space, page id)."""
        wanted = list(dict.fromkeys(map(_page, passages)))
        found = await asyncio.gather(
            *(self._index.page(scope.tenant, space, page, scope.readers) for space, page in wanted)
        )
        return dict(zip(wanted, found, strict=True))


async def _gather_to_the_end(
    composed: Awaitable[Composition], known: Awaitable[Vocabulary | None]
) -> tuple[Composition, Vocabulary | None]:
    """Await both to their end, so that model calls are recorded even if the index fails."""
    composition, vocabulary = await asyncio.gather(composed, known, return_exceptions=True)
    if isinstance(composition, BaseException):
        raise composition
    with after_calls(composition.calls):
        if isinstance(vocabulary, BaseException):
            raise vocabulary
    return composition, vocabulary


def _definition_first(question: str, passages: tuple[Passage, ...]) -> tuple[Passage, ...]:
    """Move the best passage that defines the term a question asks for to the front.

    It takes the best score, so that passages stay ordered by it.
    """
    term = asked_term(question)
    if not term:
        return passages
    for at, passage in enumerate(passages):
        if term in defined_terms(passage.chunk.text):
            first = replace(passage, score=passages[0].score)
            return (first, *passages[:at], *passages[at + 1 :])
    return passages


def _named_further(
    question: str, best: Sequence[Passage], others: Sequence[Passage]
) -> tuple[Passage, ...]:
    """Return the best passage of each further page whose title has all words of the question."""
    asked = frozenset(stems(question))
    pages = set(map(_page, best))
    named = [each for each in others if asked <= frozenset(stems(each.chunk.title))]
    further = {_page(each): each for each in reversed(named) if _page(each) not in pages}
    return tuple(each for each in named if further.get(_page(each)) is each)


def _page(passage: Passage) -> tuple[str, str]:
    return passage.chunk.space, passage.chunk.page_id


def _read(context: Sequence[Passage], composition: Composition) -> tuple[Passage, ...]:
    """Return the passages an answer is based on.

    All of them if a model was called, else those that the search found and those that are cited.
    """
    if composition.calls:
        return tuple(context)
    cited = {citation.chunk_id for claim in composition.claims for citation in claim.citations}
    return tuple(
        passage
        for passage in context
        if passage.score or passage.signals or passage.chunk.id in cited
    )


def _no_answer(retrieval: Retrieval) -> Answer:
    nothing = Composition(claims=())
    return Answer(
        question=retrieval.question,
        claims=(),
        passages=retrieval.passages,
        features=features(retrieval.question, retrieval.passages, nothing, None),
        composer="none",
        calls=retrieval.calls,
        timings_ms=dict(retrieval.timings_ms),
    )

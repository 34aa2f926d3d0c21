"""Find the live answers that are near to one that is being written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.learning.gaps import normalised
from bot.learning.question_words import Viewer
from bot.learning.reviewed_answers import (
    AnswerText,
    answer_id_of,
)
from rag.errors import RagError
from rag.ports import Embedder, SearchIndex
from rag.types import ANSWERS_SPACE, Question

NEAR = 0.8
"""Cosine of two questions from which on they are shown as asking the same."""

_NEAREST = 10


@dataclass(frozen=True, slots=True)
class NearAnswer:
    """A live answer to nearly the same question, with the cosine of the two."""

    id: str
    question: str
    url: str
    similarity: float


class NearAnswers:
    """Finds live answers to nearly the same question that a viewer may read."""

    def __init__(self, tenant: str, index: SearchIndex, embedder: Embedder | None) -> None:
        self._tenant = tenant
        self._index = index
        self._embedder = embedder

    async def of(self, written: AnswerText, viewer: Viewer, *, own: str) -> tuple[NearAnswer, ...]:
        """Return them, the nearest first; ``own`` is left out. None while the index is away."""
        if not written.question:
            return ()
        try:
            return await self._find(written, viewer, own)
        except RagError:
            return ()

    async def _find(self, written: AnswerText, viewer: Viewer, own: str) -> tuple[NearAnswer, ...]:
        embedder = self._embedder
        vector = None if embedder is None else await embedder.embed_query(written.question)
        asked = Question(
            written.question, self._tenant, vector=vector, spaces=frozenset({ANSWERS_SPACE})
        )
        found = await self._index.search(asked, viewer.reader.principals, _NEAREST)
        chunks = {answer_id_of(each.chunk.page_id): each.chunk for each in found}
        others = [(key, chunk) for key, chunk in chunks.items() if key not in {"", own}]
        titles = [chunk.title for _, chunk in others]
        alike = await self._alike((written.question, *written.variants), titles)
        near = [
            NearAnswer(key, chunk.title, chunk.url, value)
            for (key, chunk), value in zip(others, alike, strict=True)
            if value >= NEAR
        ]
        return tuple(sorted(near, key=lambda each: -each.similarity))

    async def _alike(self, wordings: Sequence[str], titles: Sequence[str]) -> Sequence[float]:
        """Return how near each title is to the nearest of some wordings; 1 for the same words."""
        if self._embedder is None or not titles:
            same = set(map(normalised, wordings))
            return [float(normalised(each) in same) for each in titles]
        vectors = await self._embedder.embed([*wordings, *titles])
        own, others = vectors[: len(wordings)], vectors[len(wordings) :]
        return [float(value) for value in (others @ own.T).max(axis=1)]

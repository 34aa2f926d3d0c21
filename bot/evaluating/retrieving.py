"""Page rankings of one question by keyword, by vector, by both: all from the same search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.evaluating.questions import Labelled
from rag.embedding import embed_question
from rag.evaluation.metrics import distinct, reciprocal_rank_fusion
from rag.ports import Embedder, Index
from rag.types import Passage, Question

CANDIDATES = 400
"""How many passages are asked for: enough for the whole lists of both halves."""


@dataclass(frozen=True, slots=True)
class Rankings:
    """Pages in order, each once, by four ways of ranking the same candidates."""

    keyword: tuple[str, ...]
    vector: tuple[str, ...]
    rrf: tuple[str, ...]
    ours: tuple[str, ...]


async def rank_pages(
    index: Index, embedder: Embedder | None, row: Labelled, tenant: str
) -> Rankings:
    """Search once and order the result in four ways; a follow-up is asked in its full form.

    The rewriting of follow-ups is left to the written one, so that retrieval is measured alone.
    """
    text = row.standalone or row.text
    vector, tokens = await embed_question(embedder, text)
    question = Question(text=text, tenant=tenant, vector=vector, tokens=tokens)
    passages = await index.search(question, row.principals, CANDIDATES)
    page_of = {passage.chunk.id: passage.chunk.page_id for passage in passages}
    keyword = _by(passages, "keyword_rank")
    by_vector = _by(passages, "vector_rank")
    fused = reciprocal_rank_fusion([keyword, by_vector])
    ours = [passage.chunk.id for passage in passages]
    return Rankings(
        *(
            distinct(page_of[chunk] for chunk in order)
            for order in (keyword, by_vector, fused, ours)
        )
    )


def _by(passages: Sequence[Passage], rank: str) -> list[str]:
    ranked = [passage for passage in passages if rank in passage.signals]
    return [p.chunk.id for p in sorted(ranked, key=lambda passage: passage.signals[rank])]

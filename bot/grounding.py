"""Searches, composes and judges: what the pages say to a question, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import structlog

from bot.asking import Asked
from bot.observing.explaining import Grounded, of_gate
from bot.ports import ReportStage
from bot.rendering.wording import reply_of
from bot.types import Reply, Stage
from rag import telemetry
from rag.errors import RagError
from rag.pipeline import Pipeline, Retrieval
from rag.telemetry import describe, span
from rag.types import Answer, ModelCall, Principal

_log = structlog.get_logger(__name__)


class Gates(Protocol):
    """One calibrated probability that an answer is right."""

    def probability(self, features: Mapping[str, float], composer: str) -> float: ...

    def threshold(self, composer: str) -> float: ...


class Grounding:
    """Answers from the pages, and has the gate judge each answer by what composed it."""

    def __init__(self, gate: Gates) -> None:
        self._gate = gate

    async def ground(self, pipeline: Pipeline, asked: Asked, report: ReportStage) -> Grounded:
        """Search, compose and judge. Raises RagError when the search itself fails."""
        await report(Stage.SEARCHING)
        retrieval = await pipeline.retrieve(asked.question, asked.scope)
        await report(Stage.READING, len({each.chunk.page_id for each in retrieval.passages}))
        try:
            answer = await pipeline.compose(retrieval, asked.scope, asked.attached)
        except RagError:
            _log.exception("composing_failed")
            return Grounded(retrieval, None, 0.0, 1.0)
        await report(Stage.CHECKING)
        return self._judged(retrieval, answer)

    async def fuller(
        self, pipeline: Pipeline, asked: Asked, public: Grounded, own: frozenset[Principal]
    ) -> tuple[Reply | None, tuple[ModelCall, ...]]:
        """Return what is cited from pages that only one with these principals may read.

        The model calls that it took count, whether there is a reply in the end or not.
        """
        try:
            with span(telemetry.PRIVATE_REPLY):
                return await self._fuller(pipeline, asked, public, own)
        except RagError:
            _log.exception("private_reply_failed")
            return None, ()

    async def _fuller(
        self, pipeline: Pipeline, asked: Asked, public: Grounded, own: frozenset[Principal]
    ) -> tuple[Reply | None, tuple[ModelCall, ...]]:
        scope = replace(asked.scope, readers=own)
        retrieval = await pipeline.retrieve(asked.question, scope)
        shown = {passage.chunk.id for passage in public.retrieval.passages}
        if all(passage.chunk.id in shown for passage in retrieval.passages):
            return None, ()
        answer = await pipeline.compose(retrieval, scope, asked.attached)
        cited = {citation.chunk_id for claim in answer.claims for citation in claim.citations}
        judged = self._judged(retrieval, answer)
        if not judged.passes or cited <= shown:
            return None, answer.calls
        return reply_of(answer, judged.probability), answer.calls

    def _judged(self, retrieval: Retrieval, answer: Answer) -> Grounded:
        with span(telemetry.GATE) as current:
            probability = self._gate.probability(answer.features, answer.composer)
            threshold = self._gate.threshold(answer.composer)
            judged = Grounded(retrieval, answer, probability, threshold)
            describe(current, of_gate(judged))
            return judged

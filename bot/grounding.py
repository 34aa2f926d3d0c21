"""Searches, composes and judges: what the pages say to a question, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import structlog

from bot.asking import Asked
from bot.domain.outcomes import error_code
from bot.domain.ports import ReportStage, StillReadable
from bot.domain.types import Reply, Stage
from bot.gating.gate import Judgement
from bot.gating.gate_file import MODEL, calibration_name
from bot.last_look import LastLook, after, cited, shown, without
from bot.observing.explaining import Grounded, of_gate
from bot.rendering.wording import reply_of
from bot.ways import Way
from rag import telemetry
from rag.errors import RagError, after_calls
from rag.pipeline import Retrieval
from rag.telemetry import describe, span
from rag.types import Answer, ModelCall, Principal

_NOT_JUDGED = Judgement(0.0, 1.0, 1.0)

_log = structlog.get_logger(__name__)


class Gates(Protocol):
    """One calibrated probability that an answer is right."""

    def judge(self, features: Mapping[str, float], name: str) -> Judgement: ...


class Grounding:
    """Answers from the pages, and has the gate judge each answer by what composed it.

    With ``still``, no page is quoted or named that fails a last look at it: the question is asked
    once more without such pages, and what then still fails is kept back.
    """

    def __init__(self, gate: Gates, still: StillReadable | None = None) -> None:
        self._gate = gate
        self._last = LastLook(still)

    async def ground(self, way: Way, asked: Asked, report: ReportStage) -> Grounded:
        """Search, compose and judge. Raises RagError when the search itself fails."""
        grounded = await self._grounded(way, asked, report)
        failing = await self._last.failing(grounded, asked.scope)
        if not failing:
            return grounded
        with after_calls(grounded.calls):
            again = await self._grounded(way, without(asked, failing), report)
        return after(grounded, failing, await self._last.kept(again, asked.scope))

    async def fuller(
        self, way: Way, asked: Asked, public: Grounded, own: frozenset[Principal]
    ) -> tuple[Reply | None, tuple[ModelCall, ...]]:
        """Return what is cited from pages that only one with these principals may read.

        The model calls that it took count, whether there is a reply in the end or not.
        """
        try:
            with span(telemetry.PRIVATE_REPLY):
                return await self._fuller(way, asked, public, own)
        except RagError as error:
            _log.exception("private_reply_failed")
            return None, error.calls

    async def _fuller(
        self, way: Way, asked: Asked, public: Grounded, own: frozenset[Principal]
    ) -> tuple[Reply | None, tuple[ModelCall, ...]]:
        theirs = replace(asked, scope=replace(asked.scope, readers=own))
        found = await self._more(way, theirs, public)
        failing = await self._last.failing(found, theirs.scope) if found else frozenset()
        if found and failing:
            with after_calls(found.calls):
                again = await self._more(way, without(theirs, failing), public)
            found = after(found, failing, await self._last.kept(again, theirs.scope))
        if found is None or found.answer is None:
            return None, () if found is None else found.calls
        level = found.level
        if level is None or not found.passes or cited(found) <= shown(public):
            return None, found.calls
        return reply_of(found.answer, found.probability, level), found.calls

    async def _more(self, way: Way, asked: Asked, public: Grounded) -> Grounded | None:
        """Return an answer where something is found that the public one was not made from."""
        retrieval = await way.pipeline.retrieve(asked.question, asked.scope)
        if {passage.chunk.id for passage in retrieval.passages} <= shown(public):
            return None
        answer = await way.pipeline.compose(retrieval, asked.scope, asked.attached)
        return self._judged(way, retrieval, answer)

    async def _grounded(self, way: Way, asked: Asked, report: ReportStage) -> Grounded:
        await report(Stage.SEARCHING)
        retrieval = await way.pipeline.retrieve(asked.question, asked.scope)
        await report(Stage.READING, len({each.chunk.page_id for each in retrieval.passages}))
        try:
            answer = await way.pipeline.compose(retrieval, asked.scope, asked.attached)
        except RagError as error:
            _log.exception("composing_failed")
            code = error_code(error)
            return Grounded(retrieval, None, _NOT_JUDGED, earlier=error.calls, error=code)
        await report(Stage.CHECKING)
        return self._judged(way, retrieval, answer)

    def _judged(self, way: Way, retrieval: Retrieval, answer: Answer) -> Grounded:
        with span(telemetry.GATE) as current:
            judgement = self._gate.judge(answer.features, _calibration(way, answer))
            judged = Grounded(retrieval, answer, judgement)
            describe(current, of_gate(judged))
            return judged


def _calibration(way: Way, answer: Answer) -> str:
    """Name the calibration that an answer is judged by: by model and prompt, if one wrote it."""
    if answer.composer != MODEL:
        return answer.composer
    return calibration_name(way.model, answer.calls[-1].prompt if answer.calls else "")

"""Search, compose an answer, recheck its pages' permissions and judge its probability.

Before pages are quoted or named, their permissions are checked at their source. Pages that fail are
excluded, and search and composing run once more without them. The trace functions add the search
results and the gate's decision to the record and to OpenTelemetry spans, without any text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from bot.answering.answer_plan import ModelProfile, SearchRequest
from bot.answering.gate import Judgement
from bot.answering.gate_file import MODEL, calibration_name
from bot.answering.reply_text import found_passages, reply_of
from bot.domain.interactions import ConfidenceLevel, ErrorCode, Reply, Route, Trace
from bot.domain.messages import Stage
from bot.domain.outcomes import error_code
from bot.domain.ports import ReportStage, StillReadable
from rag import telemetry
from rag.errors import RagError, after_calls
from rag.pipeline import Retrieval, Scope
from rag.telemetry import Attributes, describe, span
from rag.types import Answer, Chunk, ModelCall, Principal


@dataclass(frozen=True, slots=True)
class GroundedAnswer:
    """The retrieved passages, the answer composed from them and the gate's judgement.

    ``answer`` is None if composing failed; ``error`` is the reason. ``earlier`` are the model calls
    of a discarded first answer or of a failed one; ``notes`` give the reason.
    """

    retrieval: Retrieval
    answer: Answer | None
    judgement: Judgement
    earlier: tuple[ModelCall, ...] = ()
    notes: tuple[str, ...] = ()
    error: ErrorCode | None = None

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Return all model calls, those of discarded answers too."""
        return (*self.earlier, *(self.answer.calls if self.answer else ()))

    @property
    def probability(self) -> float:
        return self.judgement.probability

    @property
    def level(self) -> ConfidenceLevel | None:
        """Return the confidence level; None without an answer, or if it must be escalated."""
        if self.answer is None or not self.answer.claims:
            return None
        return self.judgement.level(self.answer.missing)

    @property
    def passes(self) -> bool:
        """Return whether the answer is sure or partial, not a guess."""
        return self.level in {"sure", "partial"}

    @property
    def gate(self) -> str:
        """Return the gate's decision for the record: "stopped", "passed" or "unsure"."""
        if self.level is None:
            return "stopped"
        return "passed" if self.passes else "unsure"


def trace_with_answer(trace: Trace, grounded: GroundedAnswer) -> Trace:
    """Add the passages, the features and the gate's decision to a trace."""
    answer = grounded.answer
    passages = answer.passages if answer else grounded.retrieval.passages
    timings = answer.timings_ms if answer else grounded.retrieval.timings_ms
    explained = replace(
        trace,
        passages=found_passages(passages),
        features=dict(answer.features) if answer else {},
        threshold=grounded.judgement.threshold,
        gate=grounded.gate,
        calibration=grounded.judgement.by,
        timings_ms={**trace.timings_ms, **timings},
        notes=(*trace.notes, *grounded.notes),
    )
    calls = (*trace.calls, *grounded.calls)
    if answer is None:
        explained = trace_with_note(explained, "the answer could not be composed")
    return trace_with_calls(explained, calls)


def trace_with_calls(trace: Trace, calls: tuple[ModelCall, ...]) -> Trace:
    """Set the model calls and their content-filter verdicts."""
    verdicts = tuple(verdict for call in calls for verdict in call.filters)
    return replace(trace, calls=calls, filters=verdicts)


def trace_with_note(trace: Trace, note: str) -> Trace:
    """Add a note, which must contain no text of users or pages."""
    return replace(trace, notes=(*trace.notes, note))


def route_attributes(route: Route) -> Attributes:
    """Return the span attributes of a route."""
    return {
        telemetry.INTENT: route.intent.value,
        telemetry.ROUTE_DECIDED_BY: route.decided_by,
        telemetry.ROUTE_SCORE: route.score,
    }


def gate_attributes(judged: GroundedAnswer) -> Attributes:
    """Return the span attributes of the gate's decision."""
    return {
        telemetry.EVALUATION_NAME: "gate",
        telemetry.EVALUATION_SCORE: judged.probability,
        telemetry.EVALUATION_LABEL: judged.gate,
        telemetry.GATE_THRESHOLD: judged.judgement.threshold,
    }


_RECHECK_NOTE = "pages that failed the last check were left out: {}"


class PermissionRecheck:
    """Recheck, at their source, the permissions of the pages that an outcome would show.

    Without ``still`` every page passes.
    """

    def __init__(self, still: StillReadable | None) -> None:
        self._still = still

    async def failing(self, grounded: GroundedAnswer, scope: Scope) -> frozenset[str]:
        """Return the ids of the pages that may not be shown to the readers of the scope."""
        if self._still is None:
            return frozenset()
        chunks = _chunks_to_show(grounded)
        if not chunks:
            return frozenset()
        readable = await self._still.still(scope.tenant, chunks, scope.readers)
        return frozenset(chunk.page_id for chunk in chunks if chunk.id not in readable)

    async def kept(self, grounded: GroundedAnswer | None, scope: Scope) -> GroundedAnswer | None:
        """Return the answer, without its claims and failing pages if any page fails."""
        failing = await self.failing(grounded, scope) if grounded else frozenset()
        if grounded is None or not failing:
            return grounded
        looked_at = {chunk.page_id for chunk in _chunks_to_show(grounded)}
        return _limited_to_pages(grounded, looked_at - failing)


def without_pages(asked: SearchRequest, pages: frozenset[str]) -> SearchRequest:
    """Return the search request with some pages excluded."""
    excluded = asked.scope.excluded_pages | pages
    return replace(asked, scope=replace(asked.scope, excluded_pages=excluded))


def after_recheck(
    first: GroundedAnswer, failing: frozenset[str], again: GroundedAnswer | None
) -> GroundedAnswer:
    """Return the second answer with the model calls of the discarded first one and a note.

    Without a second answer, the first is returned without its claims and pages.
    """
    final = _limited_to_pages(first, frozenset()) if again is None else again
    notes = (*final.notes, _RECHECK_NOTE.format(len(failing)))
    earlier = first.earlier if again is None else (*first.calls, *final.earlier)
    return replace(final, earlier=earlier, notes=notes)


def cited_chunk_ids(grounded: GroundedAnswer) -> frozenset[str]:
    """Return the ids of the chunks that an answer cites."""
    claims = grounded.answer.claims if grounded.answer else ()
    return frozenset(citation.chunk_id for claim in claims for citation in claim.citations)


def retrieved_chunk_ids(grounded: GroundedAnswer) -> frozenset[str]:
    """Return the ids of the retrieved chunks."""
    return frozenset(passage.chunk.id for passage in grounded.retrieval.passages)


def _chunks_to_show(grounded: GroundedAnswer) -> Sequence[Chunk]:
    """Return the chunks that the outcome may quote or name.

    For a sure answer these are the cited chunks; without an answer, the retrieved ones, offered as
    suggestions. For an unsure answer both: a clarification that names retrieved pages may replace
    it. For a partial answer too: the model had read all of them when it wrote what is missing.
    """
    found = [passage.chunk for passage in grounded.retrieval.passages]
    if grounded.answer is None or grounded.level is None:
        return found
    wanted = cited_chunk_ids(grounded)
    quoted = [one.chunk for one in grounded.answer.passages if one.chunk.id in wanted]
    if grounded.level == "sure":
        return quoted
    return list({one.id: one for one in (*quoted, *found)}.values())


def _limited_to_pages(grounded: GroundedAnswer, pages: frozenset[str] | set[str]) -> GroundedAnswer:
    """Return the answer without claims, and with the passages of these pages alone."""
    found = grounded.retrieval.passages
    passages = tuple(passage for passage in found if passage.chunk.page_id in pages)
    answer = grounded.answer
    return replace(
        grounded,
        retrieval=replace(grounded.retrieval, passages=passages),
        answer=answer and replace(answer, claims=(), passages=passages),
    )


_NOT_JUDGED = Judgement(0.0, 1.0, 1.0)

_log = structlog.get_logger(__name__)


class JudgesAnswers(Protocol):
    """Port: estimate the calibrated probability that an answer is right."""

    def judge(self, features: Mapping[str, float], name: str) -> Judgement: ...


class Grounding:
    """Compose answers from the pages, and judge each with the calibration of its composer.

    With ``still``, no page is shown whose permission recheck fails: search and composing run once
    more without such pages, and if any page fails again, the answer's claims are withheld.
    """

    def __init__(self, gate: JudgesAnswers, still: StillReadable | None = None) -> None:
        self._gate = gate
        self._last = PermissionRecheck(still)

    async def ground(
        self, way: ModelProfile, asked: SearchRequest, report: ReportStage
    ) -> GroundedAnswer:
        """Search, compose, judge and recheck permissions. Raises RagError if the search fails."""
        grounded = await self._grounded(way, asked, report)
        failing = await self._last.failing(grounded, asked.scope)
        if not failing:
            return grounded
        with after_calls(grounded.calls):
            again = await self._grounded(way, without_pages(asked, failing), report)
        return after_recheck(grounded, failing, await self._last.kept(again, asked.scope))

    async def fuller(
        self,
        way: ModelProfile,
        asked: SearchRequest,
        public: GroundedAnswer,
        own: frozenset[Principal],
    ) -> tuple[Reply | None, tuple[ModelCall, ...]]:
        """Return a reply that cites passages which the public answer had not found, if any.

        ``own`` are the asker's principals. The reply is None if the gate does not pass it, or on
        failure; the model calls are returned in any case.
        """
        try:
            with span(telemetry.PRIVATE_REPLY):
                return await self._fuller(way, asked, public, own)
        except RagError as error:
            _log.exception("private_reply_failed")
            return None, error.calls

    async def _fuller(
        self,
        way: ModelProfile,
        asked: SearchRequest,
        public: GroundedAnswer,
        own: frozenset[Principal],
    ) -> tuple[Reply | None, tuple[ModelCall, ...]]:
        theirs = replace(asked, scope=replace(asked.scope, readers=own))
        found = await self._more(way, theirs, public)
        failing = await self._last.failing(found, theirs.scope) if found else frozenset()
        if found and failing:
            with after_calls(found.calls):
                again = await self._more(way, without_pages(theirs, failing), public)
            found = after_recheck(found, failing, await self._last.kept(again, theirs.scope))
        if found is None or found.answer is None:
            return None, () if found is None else found.calls
        level = found.level
        if (
            level is None
            or not found.passes
            or cited_chunk_ids(found) <= retrieved_chunk_ids(public)
        ):
            return None, found.calls
        return reply_of(found.answer, found.probability, level), found.calls

    async def _more(
        self, way: ModelProfile, asked: SearchRequest, public: GroundedAnswer
    ) -> GroundedAnswer | None:
        """Return an answer if the search finds passages that the public one did not; else None."""
        retrieval = await way.pipeline.retrieve(asked.question, asked.scope)
        if {passage.chunk.id for passage in retrieval.passages} <= retrieved_chunk_ids(public):
            return None
        answer = await way.pipeline.compose(retrieval, asked.scope, asked.attached)
        return self._judged(way, retrieval, answer)

    async def _grounded(
        self, way: ModelProfile, asked: SearchRequest, report: ReportStage
    ) -> GroundedAnswer:
        await report(Stage.SEARCHING)
        retrieval = await way.pipeline.retrieve(asked.question, asked.scope)
        await report(Stage.READING, len({each.chunk.page_id for each in retrieval.passages}))
        try:
            answer = await way.pipeline.compose(retrieval, asked.scope, asked.attached)
        except RagError as error:
            _log.exception("composing_failed")
            code = error_code(error)
            return GroundedAnswer(retrieval, None, _NOT_JUDGED, earlier=error.calls, error=code)
        await report(Stage.CHECKING)
        return self._judged(way, retrieval, answer)

    def _judged(self, way: ModelProfile, retrieval: Retrieval, answer: Answer) -> GroundedAnswer:
        with span(telemetry.GATE) as current:
            judgement = self._gate.judge(answer.features, _calibration_of(way, answer))
            judged = GroundedAnswer(retrieval, answer, judgement)
            describe(current, gate_attributes(judged))
            return judged


def _calibration_of(way: ModelProfile, answer: Answer) -> str:
    """Return the name of an answer's calibration: its composer, or its model and prompt."""
    if answer.composer != MODEL:
        return answer.composer
    return calibration_name(way.model, answer.calls[-1].prompt if answer.calls else "")

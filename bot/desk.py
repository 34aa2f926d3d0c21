"""The desk: one message in, one outcome out; the whole way of a question on one page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, Protocol

import structlog

from bot.clarification import clarify
from bot.escalations.handover import WISH, EscalationWording
from bot.observing.explaining import Grounded, explained, noted, of_gate, of_route, with_calls
from bot.ports import ReportStage
from bot.rendering.wording import refusal_of, reply_of, suggestions_of
from bot.types import (
    Escalation,
    EscalationReason,
    Inquiry,
    Intent,
    Outcome,
    Reply,
    Response,
    Route,
    Stage,
    Trace,
)
from rag import telemetry
from rag.errors import RagError
from rag.pipeline import Pipeline, Retrieval, Scope
from rag.telemetry import describe, span
from rag.types import Answer, ModelCall, Turn

_log = structlog.get_logger(__name__)


class Routes(Protocol):
    """Tells what a message wants. Never raises."""

    async def route(self, text: str, history: tuple[Turn, ...]) -> Route: ...


class AnswersGenerically(Protocol):
    """Small talk and general knowledge, without the index. Never raises."""

    async def reply(
        self, route: Route, text: str, history: tuple[Turn, ...]
    ) -> tuple[Reply, tuple[ModelCall, ...]]: ...


class Gates(Protocol):
    """One calibrated probability that an answer is right."""

    def probability(self, features: Mapping[str, float], composer: str) -> float: ...

    def threshold(self, composer: str) -> float: ...


class Desk:
    """Routes, retrieves, answers and gates; it has no visible effect and may be run again."""

    def __init__(
        self,
        *,
        router: Routes,
        generic: AnswersGenerically,
        pipeline: Pipeline,
        gate: Gates,
        wording: EscalationWording,
    ) -> None:
        self._router = router
        self._generic = generic
        self._pipeline = pipeline
        self._gate = gate
        self._wording = wording

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        """Answer from the pages the audience may read, ask back, or hand over; never guess.

        Nothing that a model or the index does makes it raise.
        """
        await report(Stage.ROUTING)
        started = time.perf_counter()
        with span(telemetry.ROUTE) as current:
            route = await self._router.route(inquiry.message.text, inquiry.history)
            describe(current, of_route(route))
        trace = Trace(
            route=route,
            calls=route.calls,
            timings_ms={"route": _ms_since(started)},
            notes=route.notes,
        )
        match route.intent:
            case Intent.GENERIC:
                return await self._generic_outcome(inquiry, trace)
            case Intent.HUMAN:
                return Outcome(self._hand_over("asked_for_human", inquiry, route), trace)
            case Intent.DOMAIN | Intent.UNKNOWN:
                return await self._grounded_outcome(inquiry, trace, report)

    async def _generic_outcome(self, inquiry: Inquiry, trace: Trace) -> Outcome:
        started = time.perf_counter()
        reply, calls = await self._generic.reply(trace.route, inquiry.message.text, inquiry.history)
        timings = {**trace.timings_ms, "generate": _ms_since(started)}
        calls = (*trace.calls, *calls)
        return Outcome(reply, with_calls(replace(trace, timings_ms=timings), calls))

    async def _grounded_outcome(
        self, inquiry: Inquiry, trace: Trace, report: ReportStage
    ) -> Outcome:
        scope = _scope(inquiry)
        try:
            grounded = await self._ground(trace.route.question, scope, report)
        except RagError:
            _log.exception("retrieval_failed", interaction_id=inquiry.message.interaction_id)
            return Outcome(
                self._hand_over("unavailable", inquiry, trace.route),
                noted(trace, "the index did not answer"),
            )
        trace = explained(trace, grounded)
        private, calls = await self._for_the_asker(inquiry, scope, grounded)
        trace = with_calls(trace, (*trace.calls, *calls))
        return Outcome(self._respond(inquiry, trace.route, grounded), trace, private)

    async def _ground(self, question: str, scope: Scope, report: ReportStage) -> Grounded:
        """Search, compose and judge. Raises RagError when the search itself fails."""
        await report(Stage.SEARCHING)
        retrieval = await self._pipeline.retrieve(question, scope)
        await report(Stage.READING, len({each.chunk.page_id for each in retrieval.passages}))
        try:
            answer = await self._pipeline.compose(retrieval, scope)
        except RagError:
            _log.exception("composing_failed")
            return Grounded(retrieval, None, 0.0, 1.0)
        await report(Stage.CHECKING)
        return self._judged(retrieval, answer)

    def _judged(self, retrieval: Retrieval, answer: Answer) -> Grounded:
        with span(telemetry.GATE) as current:
            probability = self._gate.probability(answer.features, answer.composer)
            threshold = self._gate.threshold(answer.composer)
            judged = Grounded(retrieval, answer, probability, threshold)
            describe(current, of_gate(judged))
            return judged

    def _respond(self, inquiry: Inquiry, route: Route, grounded: Grounded) -> Response:
        answer = grounded.answer
        if answer is None:
            return self._hand_over("unavailable", inquiry, route, grounded)
        if answer.refusal is not None:
            return refusal_of(grounded.probability)
        if grounded.passes:
            return reply_of(answer, grounded.probability)
        asked_back = clarify(answer.question, grounded.retrieval.passages, grounded.probability)
        if asked_back is not None:
            return asked_back
        reason = _reason(answer, self._pipeline, grounded)
        return self._hand_over(reason, inquiry, route, grounded)

    async def _for_the_asker(
        self, inquiry: Inquiry, scope: Scope, public: Grounded
    ) -> tuple[Reply | None, tuple[ModelCall, ...]]:
        """Return a fuller reply for the asker alone when a channel may not read all they may.

        The model calls that it took count, whether there is one in the end or not.
        """
        author = inquiry.message.author.principals
        if inquiry.audience.kind == "private" or author <= inquiry.audience.principals:
            return None, ()
        own = replace(scope, readers=author)
        try:
            with span(telemetry.PRIVATE_REPLY):
                return await self._fuller(public, own)
        except RagError:
            _log.exception("private_reply_failed")
            return None, ()

    async def _fuller(
        self, public: Grounded, own: Scope
    ) -> tuple[Reply | None, tuple[ModelCall, ...]]:
        """Return what is cited from pages that the channel may not read. Raises RagError."""
        retrieval = await self._pipeline.retrieve(public.retrieval.question, own)
        shown = {passage.chunk.id for passage in public.retrieval.passages}
        if all(passage.chunk.id in shown for passage in retrieval.passages):
            return None, ()
        answer = await self._pipeline.compose(retrieval, own)
        cited = {citation.chunk_id for claim in answer.claims for citation in claim.citations}
        judged = self._judged(retrieval, answer)
        if not judged.passes or cited <= shown:
            return None, answer.calls
        return reply_of(answer, judged.probability), answer.calls

    def _hand_over(
        self,
        reason: EscalationReason,
        inquiry: Inquiry,
        route: Route,
        grounded: Grounded | None = None,
    ) -> Escalation:
        suggestions = suggestions_of(grounded.retrieval.passages) if grounded else ()
        return Escalation(
            text=self._wording.text(
                reason,
                private=inquiry.message.private,
                platform=inquiry.message.thread.platform,
            ),
            reason=reason,
            question=_question_for_people(inquiry, route),
            suggestions=() if reason == "nothing_found" else suggestions,
            confidence=grounded.probability if grounded else None,
            consent_needed=inquiry.message.private and reason != "asked_for_human",
        )


def _scope(inquiry: Inquiry) -> Scope:
    return Scope(
        tenant=inquiry.message.thread.tenant,
        readers=inquiry.audience.principals,
        spaces=inquiry.policy.spaces,
        excluded_pages=inquiry.excluded_pages,
    )


def _reason(
    answer: Answer, pipeline: Pipeline, grounded: Grounded
) -> Literal["nothing_found", "unsupported", "low_confidence"]:
    if not pipeline.speaks(grounded.retrieval):
        return "nothing_found"
    if answer.dropped_claims and not answer.claims:
        return "unsupported"
    return "low_confidence"


def _question_for_people(inquiry: Inquiry, route: Route) -> str:
    """Return what a person is asked: for "a human, please" also the question before it.

    What a button said adds nothing to that question; what people wrote is kept.
    """
    said = inquiry.message.text
    if route.intent is not Intent.HUMAN or route.question in said:
        return said
    return route.question if said == WISH else f"{route.question}\n{said}"


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000

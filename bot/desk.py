"""The desk: one message in, one outcome out; the whole way of a question on one page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import structlog

from bot.asking import Asked, asked_of, lacks_topic, leans_on_own, question_for_people, routed
from bot.clarification import ask_topic, clarify
from bot.domain.handoff import HandoffWording
from bot.domain.health import NOTHING_INDEXED
from bot.domain.outcomes import error_code
from bot.domain.ports import ReportStage, StillReadable
from bot.domain.types import (
    ErrorCode,
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
from bot.finishing import finished
from bot.grounding import Gates, Grounding
from bot.observing.explaining import Grounded, explained, noted, of_route, with_calls
from bot.rendering.wording import refusal_of, reply_of, suggestions_of
from bot.ways import AnswersGenerically, Routes, Way, Ways
from rag import telemetry
from rag.errors import RagError
from rag.pipeline import Pipeline
from rag.telemetry import describe, span
from rag.types import Answer, ModelCall

_log = structlog.get_logger(__name__)

_NO_INDEX = "the index did not answer"


class Desk:
    """Routes, retrieves, answers and gates; it has no visible effect and may be run again.

    Args:
        router: Tells what a message wants.
        generic: Answers small talk and general knowledge.
        pipeline: Answers from the pages.
        model: The name of the model that the first three use, as configured; "" for none.
        gate: Judges how sure an answer is.
        wording: What is said when a person takes over.
        others: What takes the place of the first three where a channel names another model.
        still: Takes a last look at the pages behind a reply; without it the index is believed.
    """

    def __init__(
        self,
        *,
        router: Routes,
        generic: AnswersGenerically,
        pipeline: Pipeline,
        gate: Gates,
        wording: HandoffWording,
        model: str = "",
        others: Mapping[str, Way] | None = None,
        still: StillReadable | None = None,
    ) -> None:
        configured = Way(router=router, generic=generic, pipeline=pipeline, model=model)
        self._ways = Ways(configured, others or {})
        self._grounding = Grounding(gate, still)
        self._wording = wording

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        """Answer from the pages the audience may read, ask back, or hand over; say what is a guess.

        Nothing that a model or the index does makes it raise. What is overheard is answered from
        the pages or not at all.
        """
        await report(Stage.ROUTING)
        # A model is paid for to answer from the wiki: not to chat with people from outside.
        quiet = inquiry.message.overheard or inquiry.outsiders
        way = self._ways.of(inquiry.policy.model, quiet=quiet)
        started = time.perf_counter()
        with span(telemetry.ROUTE) as current:
            route = await routed(way.router, inquiry)
            describe(current, of_route(route))
        trace = Trace(
            route=route,
            calls=route.calls,
            timings_ms={"route": _ms_since(started)},
            notes=(*way.notes, *route.notes),
            heard=inquiry.heard if _knows_the_talk(route) else (),
        )
        return finished(inquiry, await self._outcome(inquiry, way, trace, report))

    async def _outcome(
        self, inquiry: Inquiry, way: Way, trace: Trace, report: ReportStage
    ) -> Outcome:
        match trace.route.intent:
            case Intent.GENERIC:
                return await _generic_outcome(inquiry, way, trace)
            case Intent.HUMAN:
                asked_back = ask_topic(inquiry) if lacks_topic(inquiry, trace.route) else None
                handed = asked_back or self._hand_over("asked_for_human", inquiry, trace.route)
                return Outcome(handed, trace)
            case Intent.DOMAIN | Intent.UNKNOWN:
                return await self._grounded_outcome(inquiry, way, trace, report)

    async def _grounded_outcome(
        self, inquiry: Inquiry, way: Way, trace: Trace, report: ReportStage
    ) -> Outcome:
        asked = asked_of(inquiry, trace.route)
        try:
            grounded = await self._grounding.ground(way, asked, report)
        except RagError as error:
            _log.exception("retrieval_failed", interaction_id=inquiry.message.interaction_id)
            code = error_code(error)
            trace = with_calls(noted(trace, _NO_INDEX), (*trace.calls, *error.calls))
            return Outcome(self._hand_over("unavailable", inquiry, trace.route, error=code), trace)
        trace = explained(trace, grounded)
        private, calls = await self._for_the_asker(inquiry, way, asked, grounded)
        trace = with_calls(trace, (*trace.calls, *calls))
        response = self._respond(inquiry, way, trace.route, grounded)
        if not grounded.retrieval.passages and not await _holds(way, asked):
            response = self._nothing_indexed(response)
        return Outcome(response, trace, private)

    async def _for_the_asker(
        self, inquiry: Inquiry, way: Way, asked: Asked, public: Grounded
    ) -> tuple[Reply | None, tuple[ModelCall, ...]]:
        """Return a fuller reply for the asker alone when a channel may not read all they may."""
        message, audience = inquiry.message, inquiry.audience
        own = message.author.principals
        if message.overheard or audience.kind == "private" or own <= audience.principals:
            return None, ()
        return await self._grounding.fuller(way, asked, public, own)

    def _respond(self, inquiry: Inquiry, way: Way, route: Route, grounded: Grounded) -> Response:
        answer = grounded.answer
        if answer is None:
            return self._hand_over("unavailable", inquiry, route, grounded, error=grounded.error)
        if answer.refusal is not None:
            return refusal_of(grounded.probability)
        level = grounded.level
        if grounded.passes and level is not None:
            return reply_of(answer, grounded.probability, level)
        asked_back = clarify(answer.question, grounded.retrieval.passages, grounded.probability)
        if asked_back is not None:
            return asked_back
        if level is not None:
            return reply_of(answer, grounded.probability, level)
        reason = _reason(answer, way.pipeline, grounded)
        return self._hand_over(reason, inquiry, route, grounded)

    def _nothing_indexed(self, response: Response) -> Response:
        """Return what is said where it is not the question's fault that nothing was found."""
        if not isinstance(response, Escalation):
            return response
        text = response.text.replace(self._wording.not_found, NOTHING_INDEXED, 1)
        statement = response.statement.replace(self._wording.not_found, NOTHING_INDEXED, 1)
        return replace(response, text=text, statement=statement)

    def _hand_over(
        self,
        reason: EscalationReason,
        inquiry: Inquiry,
        route: Route,
        grounded: Grounded | None = None,
        error: ErrorCode | None = None,
    ) -> Escalation:
        suggestions = suggestions_of(grounded.retrieval.passages) if grounded else ()
        message, people = inquiry.message, inquiry.policy.people
        return Escalation(
            text=self._wording.text(
                reason,
                private=message.private,
                platform=message.thread.platform,
                people=people,
                leaned=leans_on_own(inquiry, route),
            ),
            reason=reason,
            question=question_for_people(inquiry, route),
            suggestions=() if reason == "nothing_found" else suggestions,
            confidence=grounded.probability if grounded else None,
            consent_needed=message.private and reason != "asked_for_human",
            people=people,
            statement=self._wording.statement(reason),
            error=error,
        )


async def _generic_outcome(inquiry: Inquiry, way: Way, trace: Trace) -> Outcome:
    started = time.perf_counter()
    reply, calls = await way.generic.reply(trace.route, inquiry.message.text, inquiry.history)
    timings = {**trace.timings_ms, "generate": _ms_since(started)}
    calls = (*trace.calls, *calls)
    return Outcome(reply, with_calls(replace(trace, timings_ms=timings), calls))


def _knows_the_talk(route: Route) -> bool:
    """Tell whether what was said before may be in the question that is kept, or in the reply."""
    return bool(route.leaned_on) or route.intent is Intent.GENERIC


async def _holds(way: Way, asked: Asked) -> bool:
    try:
        return await way.pipeline.holds(asked.scope.tenant)
    except RagError:
        return True


def _reason(
    answer: Answer, pipeline: Pipeline, grounded: Grounded
) -> Literal["nothing_found", "unsupported", "low_confidence"]:
    if not pipeline.speaks(grounded.retrieval):
        return "nothing_found"
    if answer.dropped_claims and not answer.claims:
        return "unsupported"
    return "low_confidence"


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000

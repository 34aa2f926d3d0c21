"""Handle one inquiry: route it, answer from the pages, gate the answer, respond or escalate.

Handling an inquiry has no visible effect, so it may be retried. The results of admission are added
to every outcome; an overheard message is answered only with a sure answer; sources that carry one
of the company's "superseded" labels are marked wherever they are shown.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Literal, TypeVar

import structlog

from bot.answering.answer_plan import (
    AnswersGenerically,
    ModelProfile,
    ModelProfiles,
    RoutesMessages,
    SearchRequest,
    lacks_topic,
    question_for_people,
    route_inquiry,
    search_request_of,
    uses_own_earlier_words,
)
from bot.answering.clarification import ask_topic, clarify
from bot.answering.grounding import (
    GroundedAnswer,
    Grounding,
    JudgesAnswers,
    route_attributes,
    trace_with_answer,
    trace_with_calls,
    trace_with_note,
)
from bot.answering.reply_text import refusal_of, reply_of, suggestions_of
from bot.domain.handoff import HandoffWording
from bot.domain.health import NOTHING_INDEXED
from bot.domain.interactions import (
    Clarification,
    ErrorCode,
    Escalation,
    EscalationReason,
    Outcome,
    Reply,
    Response,
    Route,
    Source,
    Trace,
)
from bot.domain.messages import Inquiry, Intent, Stage
from bot.domain.outcomes import error_code
from bot.domain.ports import AnswersInquiries, ReportStage, StillReadable
from rag import telemetry
from rag.errors import RagError
from rag.pipeline import Pipeline
from rag.telemetry import describe, span
from rag.types import Answer, ModelCall


def with_admission_results(inquiry: Inquiry, outcome: Outcome) -> Outcome:
    """Add the results of admission; silence the reply to an overheard message unless it is sure."""
    trace = replace(outcome.trace, notes=(*inquiry.notes, *outcome.trace.notes))
    silent = inquiry.message.overheard and not _is_worth_an_unasked_reply(inquiry, outcome)
    return replace(
        outcome,
        trace=trace,
        remarks=(*outcome.remarks, *inquiry.remarks),
        asker=inquiry.asker,
        silent=silent,
        private=None if inquiry.message.overheard else outcome.private,
    )


def _is_worth_an_unasked_reply(inquiry: Inquiry, outcome: Outcome) -> bool:
    """Return whether to reply unasked: a sure answer with sources, or a request for a person.

    The latter, or a clarification of its topic, counts only in a thread with earlier turns.
    """
    match outcome.response:
        case Reply(confidence_level="sure", refused=False, sources=sources):
            return bool(sources)
        case Escalation(reason="asked_for_human"):
            return bool(inquiry.history)
        case Clarification():
            # The user asked for a person, and the bot asks back for the topic.
            return outcome.trace.route.intent is Intent.HUMAN and bool(inquiry.history)
        case _:
            return False


Shown = TypeVar("Shown", bound=Response)


class SupersededMarker:
    """Mark the sources of each outcome that carry a label for superseded pages.

    Wraps another ``AnswersInquiries`` and implements the same port.

    Args:
        inner: Answers the inquiry.
        labels: The labels of superseded pages, case-insensitive.
    """

    def __init__(self, inner: AnswersInquiries, labels: Collection[str]) -> None:
        self._inner = inner
        self._labels = frozenset(label.casefold() for label in labels)

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        outcome = await self._inner.handle(inquiry, report)
        private = outcome.private
        return replace(
            outcome,
            response=self._response(outcome.response),
            private=None if private is None else self._response(private),
        )

    def _response(self, response: Shown) -> Shown:
        if isinstance(response, Reply):
            return replace(response, sources=self._marked(response.sources))
        return replace(response, suggestions=self._marked(response.suggestions))

    def _marked(self, sources: tuple[Source, ...]) -> tuple[Source, ...]:
        return tuple(replace(each, superseded=self._label(each)) for each in sources)

    def _label(self, source: Source) -> str:
        return next((label for label in source.labels if label.casefold() in self._labels), "")


_log = structlog.get_logger(__name__)

_NO_INDEX = "the index did not answer"


class Desk:
    """Answer inquiries: route, retrieve, compose, gate. Implements ``AnswersInquiries``.

    It has no visible effect, so handling may be retried.

    Args:
        router: Classifies the intent of a message.
        generic: Answers small talk and general knowledge.
        pipeline: Answers from the pages.
        model: The configured name of the model that the three above use; "" for none.
        gate: Estimates the probability that an answer is right.
        wording: The texts of an escalation.
        others: Replacements for the first three, by the model that a channel's policy names.
        still: Rechecks the permissions of the pages behind a reply at their source; None trusts
            the index.
    """

    def __init__(
        self,
        *,
        router: RoutesMessages,
        generic: AnswersGenerically,
        pipeline: Pipeline,
        gate: JudgesAnswers,
        wording: HandoffWording,
        model: str = "",
        others: Mapping[str, ModelProfile] | None = None,
        still: StillReadable | None = None,
    ) -> None:
        configured = ModelProfile(router=router, generic=generic, pipeline=pipeline, model=model)
        self._ways = ModelProfiles(configured, others or {})
        self._grounding = Grounding(gate, still)
        self._wording = wording

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        """Return an answer from pages the audience may read, a clarification or an escalation.

        An unsure answer is worded as a guess. Failures of a model or the index never raise. An
        overheard message is answered from the pages or not at all.
        """
        await report(Stage.ROUTING)
        # Model calls are paid for: none to route or chat unasked or with people from outside.
        quiet = inquiry.message.overheard or inquiry.outsiders
        way = self._ways.of(inquiry.policy.model, quiet=quiet)
        started = time.perf_counter()
        with span(telemetry.ROUTE) as current:
            route = await route_inquiry(way.router, inquiry)
            describe(current, route_attributes(route))
        trace = Trace(
            route=route,
            calls=route.calls,
            timings_ms={"route": _ms_since(started)},
            notes=(*way.notes, *route.notes),
            heard=inquiry.heard if _uses_history(route) else (),
        )
        return with_admission_results(inquiry, await self._outcome(inquiry, way, trace, report))

    async def _outcome(
        self, inquiry: Inquiry, way: ModelProfile, trace: Trace, report: ReportStage
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
        self, inquiry: Inquiry, way: ModelProfile, trace: Trace, report: ReportStage
    ) -> Outcome:
        asked = search_request_of(inquiry, trace.route)
        try:
            grounded = await self._grounding.ground(way, asked, report)
        except RagError as error:
            _log.exception("retrieval_failed", interaction_id=inquiry.message.interaction_id)
            code = error_code(error)
            trace = trace_with_calls(
                trace_with_note(trace, _NO_INDEX), (*trace.calls, *error.calls)
            )
            return Outcome(self._hand_over("unavailable", inquiry, trace.route, error=code), trace)
        trace = trace_with_answer(trace, grounded)
        private, calls = await self._for_the_asker(inquiry, way, asked, grounded)
        trace = trace_with_calls(trace, (*trace.calls, *calls))
        response = self._respond(inquiry, way, trace.route, grounded)
        if not grounded.retrieval.passages and not await _has_indexed_pages(way, asked):
            response = self._nothing_indexed(response)
        return Outcome(response, trace, private)

    async def _for_the_asker(
        self, inquiry: Inquiry, way: ModelProfile, asked: SearchRequest, public: GroundedAnswer
    ) -> tuple[Reply | None, tuple[ModelCall, ...]]:
        """Return a private reply from pages that the asker may read and the channel may not."""
        message, audience = inquiry.message, inquiry.audience
        own = message.author.principals
        if message.overheard or audience.kind == "private" or own <= audience.principals:
            return None, ()
        return await self._grounding.fuller(way, asked, public, own)

    def _respond(
        self, inquiry: Inquiry, way: ModelProfile, route: Route, grounded: GroundedAnswer
    ) -> Response:
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
        reason = _escalation_reason(answer, way.pipeline, grounded)
        return self._hand_over(reason, inquiry, route, grounded)

    def _nothing_indexed(self, response: Response) -> Response:
        """Replace "not found" in an escalation by a note that the index is empty."""
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
        grounded: GroundedAnswer | None = None,
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
                leaned=uses_own_earlier_words(inquiry, route),
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


async def _generic_outcome(inquiry: Inquiry, way: ModelProfile, trace: Trace) -> Outcome:
    started = time.perf_counter()
    reply, calls = await way.generic.reply(trace.route, inquiry.message.text, inquiry.history)
    timings = {**trace.timings_ms, "generate": _ms_since(started)}
    calls = (*trace.calls, *calls)
    return Outcome(reply, trace_with_calls(replace(trace, timings_ms=timings), calls))


def _uses_history(route: Route) -> bool:
    """Return whether the recorded question or the reply may contain words of earlier turns."""
    return bool(route.leaned_on) or route.intent is Intent.GENERIC


async def _has_indexed_pages(way: ModelProfile, asked: SearchRequest) -> bool:
    try:
        return await way.pipeline.has_pages(asked.scope.tenant)
    except RagError:
        # Not known: do not claim that the index is empty.
        return True


def _escalation_reason(
    answer: Answer, pipeline: Pipeline, grounded: GroundedAnswer
) -> Literal["nothing_found", "unsupported", "low_confidence"]:
    if not pipeline.has_relevant_passage(grounded.retrieval):
        return "nothing_found"
    if answer.dropped_claims and not answer.claims:
        return "unsupported"
    return "low_confidence"


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000

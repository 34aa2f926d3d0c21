"""Answer one inquiry: route it, retrieve passages, compose an answer, gate it, respond.

Handling an inquiry has no visible effect, so it may be retried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import structlog

from bot.answering.admission import with_admission_results
from bot.answering.answer_cache import AnswerCache, PublicAnswer, without_saving
from bot.answering.answer_plan import (
    ModelProfile,
    ModelProfiles,
    SearchRequest,
    private_search_request,
    retrieve,
    search_request_of,
)
from bot.answering.escalation_reply import (
    ask_topic,
    clarify,
    escalation_of,
    picture_offer,
    unanswered_reason,
    with_nothing_indexed,
)
from bot.answering.gate import Judgement, calibration_of
from bot.answering.grounded_answer import (
    GroundedAnswer,
    gate_attributes,
    recheck_answer,
    trace_with_answer,
    trace_with_calls,
    trace_with_note,
    trace_with_options,
    traced_route,
)
from bot.answering.private_answers import compose_private_reply
from bot.answering.reply_text import refusal_of, reply_of, with_superseded_marks
from bot.answering.standard_answers import StandardAnswers
from bot.domain.handoff import HandoffWording
from bot.domain.interactions import Clarification, Outcome, Response, Route, Trace
from bot.domain.messages import Inquiry, Intent, Stage
from bot.domain.outcomes import error_code
from bot.domain.ports import RechecksPermissions, ReportStage
from rag import telemetry
from rag.errors import ModelAnswerInvalid, ModelUnavailable, RagError
from rag.pipeline import Retrieval
from rag.retrying import question_limits
from rag.telemetry import describe, span
from rag.types import Answer

_log = structlog.get_logger(__name__)


class Desk:
    """Answer inquiries. Implements ``AnswersInquiries``.

    Args:
        default: What routes and answers in channels whose policy names no model.
        gate: Judges an answer's features with the calibration of a name (``Gate.judge``).
        wording: The texts of an escalation.
        others: Other profiles, by the model that a channel's policy names.
        recheck: Checks the permissions of pages at their source; None trusts the index.
        superseded: The labels of superseded pages, whose sources are marked.
        falls_back: Whether an inquiry that the model fails to answer is answered without one.
        standard: Finds answers that are given before all pages; None for none.
        cache: Gives answers of the day again; None composes each.
    """

    def __init__(
        self,
        default: ModelProfile,
        *,
        gate: Callable[[Mapping[str, float], str], Judgement],
        wording: HandoffWording,
        others: Mapping[str, ModelProfile] | None = None,
        recheck: RechecksPermissions | None = None,
        superseded: Collection[str] = (),
        falls_back: bool = True,
        standard: StandardAnswers | None = None,
        cache: AnswerCache | None = None,
    ) -> None:
        self._profiles = ModelProfiles(default, others or {})
        self._judge = gate
        self._wording = wording
        self._recheck = recheck
        self._superseded = superseded
        self._falls_back = falls_back
        self._standard = standard
        self._cache = cache

    async def handle(self, inquiry: Inquiry, report: ReportStage) -> Outcome:
        """Return an answer from pages the audience may read, a clarification or an escalation.

        An unsure answer is worded as a guess. Failures of a model or the index never raise. An
        overheard message is answered from the pages or not at all.
        """
        if pictures := picture_offer(inquiry):
            return with_admission_results(replace(inquiry, remarks=()), pictures)
        # Model calls are paid for: none to route or chat unasked or with people from outside.
        quiet = inquiry.message.overheard or inquiry.outsiders
        profile = self._profiles.of(inquiry.policy.model, quiet=quiet)
        with question_limits(profile.seconds) if profile.model else nullcontext():
            outcome = await self._respond_to(inquiry, profile, report)
        return with_admission_results(inquiry, with_superseded_marks(outcome, self._superseded))

    async def _respond_to(
        self, inquiry: Inquiry, profile: ModelProfile, report: ReportStage
    ) -> Outcome:
        await report(Stage.ROUTING)
        trace = await traced_route(inquiry, profile)
        match trace.route.intent:
            case Intent.GENERIC:
                return await _reply_generically(inquiry, profile, trace)
            case Intent.HUMAN:
                escalation = escalation_of("asked_for_human", inquiry, trace.route, self._wording)
                return Outcome(ask_topic(inquiry, trace.route) or escalation, trace)
            case Intent.DOMAIN | Intent.UNKNOWN:
                return await self._answer_from_pages(inquiry, profile, trace, report)

    async def _answer_from_pages(
        self, inquiry: Inquiry, profile: ModelProfile, trace: Trace, report: ReportStage
    ) -> Outcome:
        request = search_request_of(inquiry, trace.route)
        compose = partial(self._compose, inquiry, profile, trace, request, report)
        try:
            standard = await self._standard.reply_to(request) if self._standard else None
            if standard is not None:
                return Outcome(standard.reply, standard.traced(trace))
            if self._cache is None:
                found = await compose()
            else:
                found = await self._cache.answer(inquiry, profile, trace, request, compose)
        except RagError as error:
            _log.exception("retrieval_failed", interaction_id=inquiry.message.interaction_id)
            trace = trace_with_note(trace, "the index did not answer")
            response: Response = escalation_of(
                "unavailable", inquiry, trace.route, self._wording, error=error_code(error)
            )
            return Outcome(response, trace_with_calls(trace, error.calls))
        own = private_search_request(inquiry, request)
        private, calls = await compose_private_reply(
            found.profile, own, found.chunk_ids, gate=self._gate, recheck=self._recheck
        )
        outcome = found.outcome if private is None else without_saving(found.outcome)
        return replace(outcome, private=private, trace=trace_with_calls(outcome.trace, calls))

    async def _compose(
        self,
        inquiry: Inquiry,
        profile: ModelProfile,
        trace: Trace,
        request: SearchRequest,
        report: ReportStage,
    ) -> PublicAnswer:
        """Answer without the cache, for everyone who reads the reply. Raises RagError."""
        answer = partial(self._answer, profile, report)
        grounded = await answer(request)
        grounded = await recheck_answer(grounded, request, answer, self._recheck)
        trace = trace_with_answer(trace, grounded)
        if grounded.model_failed:
            profile = self._profiles.without_model
        response = self._respond(inquiry, profile, trace.route, grounded)
        if isinstance(response, Clarification):
            trace = trace_with_options(trace, response.options, grounded)
        if not grounded.retrieval.passages:
            response = await with_nothing_indexed(
                response, inquiry, trace.route, self._wording, profile.pipeline
            )
        remarks = () if inquiry.message.overheard else grounded.remarks(trace.route)
        outcome = Outcome(response, trace, remarks=remarks)
        return PublicAnswer(outcome, profile, grounded.retrieval.chunk_ids, grounded)

    async def _answer(
        self, profile: ModelProfile, report: ReportStage, request: SearchRequest
    ) -> GroundedAnswer:
        """Retrieve, compose and gate. Raises RagError if the search fails."""
        await report(Stage.SEARCHING)
        retrieval = await retrieve(profile.pipeline, request)
        await report(Stage.READING, len({each.chunk.page_id for each in retrieval.passages}))
        try:
            answer = await profile.pipeline.compose(
                retrieval, request.scope, request.attached, request.asked
            )
        except RagError as error:
            _log.warning("composing_failed", why=str(error))
            plain = await self._without_model(profile, request, error)
            failed = GroundedAnswer(retrieval, None, earlier=error.calls, error=error_code(error))
            return plain or failed
        await report(Stage.CHECKING)
        return self._gate(profile, request, retrieval, answer)

    async def _without_model(
        self, profile: ModelProfile, request: SearchRequest, error: RagError
    ) -> GroundedAnswer | None:
        """Answer as if no model were configured; None if another part failed, or fails here."""
        plain, code = self._profiles.without_model, error_code(error)
        model_failed = isinstance(error, ModelUnavailable | ModelAnswerInvalid)
        if not (model_failed and self._falls_back and profile.model) or plain.model:
            return None
        try:
            retrieval = await retrieve(plain.pipeline, request)
            answer = await plain.pipeline.compose(retrieval, request.scope)
            grounded = self._gate(plain, request, retrieval, answer)
        except RagError as another:
            _log.warning("composing_without_model_failed", why=str(another))
            return None
        note = f"the model failed ({code}): answered without one"
        return replace(grounded, earlier=error.calls, error=code, notes=(note,))

    def _gate(
        self, profile: ModelProfile, request: SearchRequest, retrieval: Retrieval, answer: Answer
    ) -> GroundedAnswer:
        """Judge an answer with the calibration of its composer, or of its model and prompt."""
        with span(telemetry.GATE) as current:
            judgement = self._judge(answer.features, calibration_of(answer, profile.calibrated_as))
            grounded = GroundedAnswer(retrieval, answer, judgement, ceiling=request.ceiling)
            describe(current, gate_attributes(grounded))
            return grounded

    def _respond(
        self, inquiry: Inquiry, profile: ModelProfile, route: Route, grounded: GroundedAnswer
    ) -> Response:
        escalate = partial(
            escalation_of, inquiry=inquiry, route=route, wording=self._wording, grounded=grounded
        )
        answer, level, probability = grounded.answer, grounded.level, grounded.probability
        if answer is None:
            return escalate("unavailable", error=grounded.error)
        if answer.refusal is not None:
            return refusal_of(probability)
        if asked_back := clarify(grounded.retrieval, probability, passes=grounded.passes):
            return asked_back
        if level is not None:
            return reply_of(answer, probability, level)
        return escalate(unanswered_reason(answer, profile.pipeline, grounded))


async def _reply_generically(inquiry: Inquiry, profile: ModelProfile, trace: Trace) -> Outcome:
    started = time.perf_counter()
    reply, calls = await profile.reply_generically(
        trace.route, inquiry.message.text, inquiry.history
    )
    timings = {**trace.timings_ms, "generate": (time.perf_counter() - started) * 1000}
    return Outcome(reply, trace_with_calls(replace(trace, timings_ms=timings), calls))

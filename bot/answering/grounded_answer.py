"""An answer composed from the pages: the gate's judgement, the recheck of its pages, its trace.

Pages whose permissions fail the recheck at their source are excluded, and the question is answered
once more without them; if any fails again, the answer's claims are withheld. The trace functions
add the search results and the gate's decision to the record and to OpenTelemetry spans, without any
text.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.answering.answer_plan import ModelProfile, SearchRequest, route_inquiry
from bot.answering.gate import NOT_JUDGED, Judgement
from bot.answering.reply_text import found_passages
from bot.answering.routing.languages import askers_texts
from bot.domain.formatting import option_label
from bot.domain.interactions import ConfidenceLevel, ErrorCode, Route, Trace
from bot.domain.messages import Inquiry, Intent
from bot.domain.ports import RechecksPermissions
from rag import telemetry
from rag.errors import after_calls
from rag.pipeline import BROAD_WORDS, Retrieval
from rag.search_scope import Scope
from rag.telemetry import Attributes, describe, span
from rag.text.words import stems
from rag.types import Answer, Chunk, ModelCall

if TYPE_CHECKING:
    # The recognisers are imported only where something is masked.
    from rag.personal_data.masking import Masking

MODEL_FAILED = "The language model isn't answering just now, so I looked without it."
"""Remark below a response to a question that the model failed to answer."""

READ_AS = "I read it as \u201c{}\u201d."
"""Remark below the response to a question whose spelling was corrected."""

CORRECTED = "the spelling of the question was corrected"
"""Note of a trace whose route's question has words as pages spell them."""

_PAGES_LEFT_OUT = "pages that failed the last check were left out: {}"

_LEVELS: Sequence[ConfidenceLevel] = ("sure", "partial", "unsure")


@dataclass(frozen=True, slots=True)
class GroundedAnswer:
    """The retrieved passages, the answer composed from them and the gate's judgement.

    ``answer`` is None if composing failed; ``error`` is the reason. With an ``error`` and an answer
    the model failed, and the answer was composed without one. ``earlier`` are the model calls of a
    discarded first answer or of a failed one; ``notes`` give the reason. The level is at most
    ``ceiling``.
    """

    retrieval: Retrieval
    answer: Answer | None
    judgement: Judgement = NOT_JUDGED
    earlier: tuple[ModelCall, ...] = ()
    notes: tuple[str, ...] = ()
    error: ErrorCode | None = None
    ceiling: ConfidenceLevel = "sure"

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Return all model calls, those of discarded answers too."""
        return (*self.earlier, *(self.answer.calls if self.answer else ()))

    @property
    def model_failed(self) -> bool:
        """Return whether the answer was composed without a model because the model failed."""
        return self.error is not None and self.answer is not None

    def remarks(self, route: Route) -> tuple[str, ...]:
        """Return the remarks to the asker below the response."""
        found, texts = self.retrieval, askers_texts(route)
        reading = (READ_AS.format(found.question),) if found.corrected else ()
        failed = texts.model_failed if texts else MODEL_FAILED
        return (*reading, failed) if self.model_failed else reading

    @property
    def probability(self) -> float:
        return self.judgement.probability

    @property
    def level(self) -> ConfidenceLevel | None:
        """Return the confidence level; None without an answer, or if it must be escalated."""
        if self.answer is None or not self.answer.claims:
            return None
        level = self.judgement.level(self.answer.missing)
        return level and max(level, self.ceiling, key=_LEVELS.index)

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

    @property
    def cited_chunk_ids(self) -> frozenset[str]:
        claims = self.answer.claims if self.answer else ()
        return frozenset(citation.chunk_id for claim in claims for citation in claim.citations)

    @property
    def chunks_to_show(self) -> Sequence[Chunk]:
        """Return the chunks that the outcome may quote or name.

        For a sure answer these are the cited chunks; without an answer, the retrieved ones, offered
        as suggestions. For an unsure answer, or one to a question that several
        pages are named by, both: a clarification that
        names retrieved pages may replace it. For a partial answer too: the model had read all of
        them when it wrote what is missing.
        """
        found = [passage.chunk for passage in self.retrieval.passages]
        offered = [*found, *(passage.chunk for passage in self.retrieval.further)]
        if self.answer is None or self.level is None:
            return offered
        wanted = self.cited_chunk_ids
        cited = [one.chunk for one in self.answer.passages if one.chunk.id in wanted]
        if self.level == "sure" and not naming_pages(self.answer.question, found):
            return cited
        return list({one.id: one for one in (*cited, *offered)}.values())

    def limited_to_pages(self, page_ids: Collection[str]) -> GroundedAnswer:
        """Return the answer without claims, and with the passages of these pages alone."""
        found = self.retrieval
        passages, further = (
            tuple(passage for passage in each if passage.chunk.page_id in page_ids)
            for each in (found.passages, found.further)
        )
        return replace(
            self,
            # Without its pages, nothing vouches for the word that was read; and a model's searches
            # may hold words of theirs.
            retrieval=replace(
                found, passages=passages, further=further, corrected=False, searches=()
            ),
            answer=self.answer and replace(self.answer, claims=(), passages=passages),
        )


def naming_pages(question: str, chunks: Sequence[Chunk]) -> frozenset[str]:
    """Return the ids of the pages that share the words of a broad question in title or section.

    Broad means at most BROAD_WORDS content words, all of which each page has there. Empty if fewer
    than two pages do, or if the question is the title of one.
    """
    asked = set(stems(question))
    if not 0 < len(asked) <= BROAD_WORDS or any(set(stems(each.title)) == asked for each in chunks):
        return frozenset()
    named = {each.page_id for each in chunks if asked <= set(stems(f"{each.title} {each.section}"))}
    return frozenset(named) if len(named) > 1 else frozenset()


async def traced_route(inquiry: Inquiry, profile: ModelProfile) -> Trace:
    """Route an inquiry, and return the trace that begins with its route and what was masked."""
    started = time.perf_counter()
    masking = _masking(inquiry, profile)
    with span(telemetry.ROUTE) as current:
        route = await route_inquiry(profile, inquiry)
        describe(current, route_attributes(route))
    # Whether the recorded question or the reply may contain words of earlier turns.
    uses_history = bool(route.leaned_on or route.search_query) or route.intent is Intent.GENERIC
    return Trace(
        route=route,
        calls=route.calls,
        timings_ms={"route": (time.perf_counter() - started) * 1000},
        notes=(*profile.notes, *route.notes),
        heard=inquiry.heard if uses_history else (),
        masked_question=masking.texts[0] if masking else None,
        masked=tuple(masking.values) if masking else (),
    )


def _masking(inquiry: Inquiry, profile: ModelProfile) -> Masking | None:
    """Return the question as the profile's model gets it; None if nothing in it is masked."""
    if profile.masker is None:
        return None
    profile.masker.names.learn([inquiry.message.author.name])
    masking = profile.masker.mask([inquiry.message.text])
    return masking if masking.values else None


def trace_with_answer(trace: Trace, grounded: GroundedAnswer) -> Trace:
    """Add the passages, the features and the gate's decision to a trace."""
    answer = grounded.answer
    passages = answer.passages if answer else grounded.retrieval.passages
    timings = answer.timings_ms if answer else grounded.retrieval.timings_ms
    if grounded.retrieval.corrected:
        trace = trace_with_note(trace, CORRECTED)
    explained = replace(
        trace,
        route=replace(trace.route, question=_searched(trace.route, grounded.retrieval)),
        passages=found_passages(passages),
        features=dict(answer.features) if answer else {},
        threshold=grounded.judgement.threshold,
        gate=grounded.gate,
        calibration=grounded.judgement.by,
        timings_ms={**trace.timings_ms, **timings},
        notes=(*trace.notes, *grounded.retrieval.notes, *grounded.notes),
        searches=grounded.retrieval.searches,
        vector=grounded.retrieval.vector,
    )
    if answer is None:
        explained = trace_with_note(explained, "the answer could not be composed")
    return trace_with_calls(explained, grounded.calls)


def trace_with_options(trace: Trace, options: Sequence[str], grounded: GroundedAnswer) -> Trace:
    """Add the passages of further pages that are offered to choose from."""
    further = [p for p in grounded.retrieval.further if option_label(p.chunk) in options]
    return replace(trace, passages=(*trace.passages, *found_passages(further)))


def _searched(route: Route, retrieval: Retrieval) -> str:
    return retrieval.question if retrieval.corrected else route.question


def trace_with_calls(trace: Trace, calls: Sequence[ModelCall]) -> Trace:
    """Add model calls and their content-filter verdicts."""
    every = (*trace.calls, *calls)
    return replace(
        trace, calls=every, filters=tuple(verdict for call in every for verdict in call.filters)
    )


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


def gate_attributes(grounded: GroundedAnswer) -> Attributes:
    """Return the span attributes of the gate's decision."""
    return {
        telemetry.EVALUATION_NAME: "gate",
        telemetry.EVALUATION_SCORE: grounded.probability,
        telemetry.EVALUATION_LABEL: grounded.gate,
        telemetry.GATE_THRESHOLD: grounded.judgement.threshold,
    }


async def failing_pages(
    recheck: RechecksPermissions | None, chunks: Sequence[Chunk], scope: Scope
) -> frozenset[str]:
    """Return the ids of the pages that the readers of a scope may not read at their source now.

    Without ``recheck`` every page passes.
    """
    if recheck is None or not chunks:
        return frozenset()
    readable = await recheck.readable_chunk_ids(scope.tenant, chunks, scope.readers)
    return frozenset(chunk.page_id for chunk in chunks if chunk.id not in readable)


async def recheck_answer(
    answer: GroundedAnswer,
    request: SearchRequest,
    answer_again: Callable[[SearchRequest], Awaitable[GroundedAnswer | None]],
    recheck: RechecksPermissions | None,
) -> GroundedAnswer:
    """Return an answer of which no page fails the recheck, if need be a second one without claims.

    Without a second answer, the first is returned without its claims and pages.
    """
    failing = await failing_pages(recheck, answer.chunks_to_show, request.scope)
    if not failing:
        return answer
    excluded = request.scope.excluded_pages | failing
    with after_calls(answer.calls):
        second = await answer_again(
            replace(request, scope=replace(request.scope, excluded_pages=excluded))
        )
    note = _PAGES_LEFT_OUT.format(len(failing))
    if second is None:
        return replace(answer.limited_to_pages(()), notes=(*answer.notes, note))
    chunks = second.chunks_to_show
    if failing := await failing_pages(recheck, chunks, request.scope):
        second = second.limited_to_pages({chunk.page_id for chunk in chunks} - failing)
    return replace(second, earlier=(*answer.calls, *second.earlier), notes=(*second.notes, note))

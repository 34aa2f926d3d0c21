"""Map an outcome to the API's answer, in both versions; no I/O."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any, Literal

from bot.answering.visibility import Visibility
from bot.domain.formatting import superseded_warnings
from bot.domain.interactions import (
    Clarification,
    ErrorCode,
    Escalation,
    Interaction,
    Outcome,
    Reply,
    Response,
    Source,
    Trace,
)
from bot.domain.messages import Limit, SearchFilters
from bot.domain.outcomes import AnswerType, answer_type, confidence_level
from bot.web.api import schemas
from bot.web.api.part_schemas import AnswerParts
from bot.web.pages.safe_html import openable
from bot.web.problems import Problem, problem

Status = Literal["answered", "unknown", "error"]
StatusV2 = Literal[Status, "refused"]

NOT_FOUND_REASONS = frozenset({"low_confidence", "nothing_found", "unsupported"})
NOT_FOUND_V1 = "I don't have that information in the provided knowledge base."
"""Version 1's text for an answer that was not found, unless NOT_FOUND_MESSAGE is set."""

_DEFAULT_WAIT: Mapping[str, int] = {"pause": 300, "queue": 60}
"""Retry-After in seconds, by kind of limit, where the end of the limit is unknown."""


PUBLIC_SIGNALS = frozenset({"keyword_rank", "vector_rank"})
"""The retrieval signals of a passage that every caller may see.

Scores depend on word counts over all pages, including those that the caller may not read, and would
reveal which words occur there.
"""


def answer_v1(
    interaction_id: str,
    conversation_id: str,
    outcome: Outcome,
    not_found: str,
    *,
    scored: bool = True,
) -> schemas.Answer:
    """Return the answer of version 1.

    ``not_found`` replaces the text of every answer that was not found. Without ``scored``,
    confidence and relevance are rounded to whole per cent.
    """
    outcome = outcome_v1(outcome)
    status = _status_v1(outcome, answer_type(outcome))
    return schemas.Answer(
        interaction_id=interaction_id,
        status=status,
        answer=_answer(outcome, not_found if status == "unknown" else _text(outcome.response)),
        conversation_id=conversation_id,
        **_shared_fields(outcome, scored=scored),
    )


def outcome_v1(outcome: Outcome) -> Outcome:
    """Return an outcome for version 1, which has no guesses: an unsure reply is an escalation."""
    response = outcome.response
    if confidence_level(outcome) != "unsure" or not isinstance(response, Reply):
        return outcome
    handed = Escalation(
        text=response.text,
        reason="low_confidence",
        question=outcome.trace.route.question,
        suggestions=response.sources,
        confidence=response.confidence,
    )
    return replace(outcome, response=handed, trace=replace(outcome.trace, gate="stopped"))


def answer_v2(
    interaction_id: str,
    conversation_id: str,
    outcome: Outcome,
    unsure: str,
    *,
    scored: bool = True,
) -> schemas.AnswerV2:
    """Return the answer of version 2.

    ``unsure`` replaces the text of a reply without a source. Without ``scored``, confidence and
    relevance are rounded to whole per cent.
    """
    response, status = outcome.response, _status_v2(outcome)
    escalated = isinstance(response, Escalation) and not outcome.silent
    limit = limit_of(outcome)
    return schemas.AnswerV2(
        interaction_id=interaction_id,
        status=status,
        answer=_answer(
            outcome, _statement(response) if _shows_own_text(response, status) else unsure
        ),
        conversation_id=conversation_id,
        **_shared_fields(outcome, scored=scored),
        confidence_level=confidence_level(outcome),
        cached_at=_cached_at(outcome),
        missing=response.missing if isinstance(response, Reply) else None,
        parts=_parts(outcome),
        translation=_translation(response),
        escalation_message=response.text if escalated else None,
        error=(_error(response) or "internal") if status == "error" else None,
        limit=None if limit is None else schemas.LimitMet.model_validate(asdict(limit)),
    )


def limit_of(outcome: Outcome) -> Limit | None:
    """Return the limit that refused a question, or None."""
    return outcome.response.limit if isinstance(outcome.response, Reply) else None


def limit_problem(
    interaction_id: str, conversation_id: str, outcome: Outcome, limit: Limit, now: datetime
) -> Problem:
    """Return the error response for a question that a limit refused."""
    usual = _DEFAULT_WAIT.get(limit.kind, 1)
    wait = (limit.until - now).total_seconds() if limit.until else usual
    return problem(
        HTTPStatus.TOO_MANY_REQUESTS
        if limit.kind in {"rate", "budget"}
        else HTTPStatus.SERVICE_UNAVAILABLE,
        outcome.response.text,
        cure="Ask again after the seconds of `Retry-After`, with a new Idempotency-Key if any.",
        headers={"Retry-After": str(max(1, math.ceil(wait)))},
        interaction_id=interaction_id,
        conversation_id=conversation_id,
        limit=limit.kind,
    )


@dataclass(frozen=True, slots=True)
class VisibleAnswer:
    """A recorded answer, restricted to what its reader may read now; scores are for admins only."""

    asked: Interaction
    seen: Visibility
    scored: bool

    @property
    def question(self) -> str:
        """The question's text, or its replacement where it is hidden from the reader."""
        return self.seen.question(self.asked)

    def answer(self, told: schemas.Answer | schemas.AnswerV2) -> schemas.Answer | schemas.AnswerV2:
        """Return the answer without content from pages that the reader may not read."""
        outcome = self.asked.outcome
        if outcome is None:
            return told
        if not isinstance(told, schemas.AnswerV2):
            outcome = outcome_v1(outcome)
        explained = self.seen.explained(self.asked, outcome)
        filters = self.asked.message.search_filters
        pipeline = told.pipeline and pipeline_of(explained, filters, scored=self.scored)
        told = told.model_copy(update={"remarks": list(self.seen.remarks(self.asked))})
        if not self.seen.tells(self.asked):
            closed = {"answer": self.seen.why_closed, "sources": [], "suggestions": []}
            newer: dict[str, object] = {
                "missing": None,
                "translation": None,
                "parts": AnswerParts([]),
            }
            newer = newer if isinstance(told, schemas.AnswerV2) else {}
            update = {**closed, **newer, "warnings": [], "pipeline": pipeline}
            return told.model_copy(update=update)
        response = outcome.response
        offered = () if isinstance(response, Reply) else self.seen.keeps(response.suggestions)
        suggestions = _sources(offered, _digits(scored=self.scored))
        return told.model_copy(update={"suggestions": suggestions, "pipeline": pipeline})


def pipeline_of(
    outcome: Outcome, filters: SearchFilters, *, scored: bool = True
) -> schemas.Pipeline:
    """Return the recorded pipeline; without ``scored``, passages show ranks instead of scores."""
    trace = outcome.trace
    return schemas.Pipeline(
        route=schemas.Routed(
            intent=trace.route.intent.value,
            score=trace.route.score,
            decided_by=trace.route.decided_by,
            question=trace.route.question,
            language=trace.route.language,
            search_query=trace.route.search_query,
        ),
        searches=[schemas.PlannedSearch.model_validate(asdict(each)) for each in trace.searches],
        passages=[
            schemas.Passage.model_validate(
                asdict(passage) | {"signals": _public_signals(passage.signals, scored=scored)}
            )
            for passage in trace.passages
        ],
        model_calls=_calls(trace),
        filters=[
            schemas.FilterVerdict.model_validate(asdict(verdict)) for verdict in trace.filters
        ],
        gate=schemas.Gate(
            name=trace.gate,
            threshold=trace.threshold,
            features=_finite(trace.features if scored else {}),
        ),
        timings_ms=_finite(trace.timings_ms),
        masked_question=trace.masked_question,
        masked=list(trace.masked),
        notes=list(trace.notes),
        search_filters=schemas.SearchFilters(
            spaces=None if filters.spaces is None else sorted(filters.spaces),
            source_type=filters.source_type,
        ),
    )


def _cached_at(outcome: Outcome) -> datetime | None:
    used = outcome.trace.cache
    return used.answered_at if used is not None and used.result == "hit" else None


def _translation(response: Response) -> schemas.Translation | None:
    if not isinstance(response, Reply) or response.translation is None:
        return None
    return schemas.Translation.model_validate(response.translation)


def _status_v1(outcome: Outcome, kind: AnswerType) -> Status:
    response = outcome.response
    if isinstance(response, Escalation):
        if response.reason in NOT_FOUND_REASONS:
            return "unknown"
        return "error" if response.reason in {"unavailable", "waited"} else "answered"
    return "unknown" if kind in {"ESCALATION_REQUIRED", "SILENT"} else "answered"


def _status_v2(outcome: Outcome) -> StatusV2:
    response = outcome.response
    if isinstance(response, Reply) and response.refused:
        return "refused"
    return "error" if _error(response) else _status_v1(outcome, answer_type(outcome))


def _error(response: Response) -> ErrorCode | None:
    return None if isinstance(response, Clarification) else response.error


def _shows_own_text(response: Response, status: StatusV2) -> bool:
    """Return whether the response's own text is shown; a reply without a source is replaced."""
    return status != "unknown" or isinstance(response, Escalation)


def _statement(response: Response) -> str:
    """Return the statement about the question, without the notice that a person is asked."""
    stated = response.statement if isinstance(response, Escalation) else ""
    return stated or _text(response)


def _digits(*, scored: bool) -> int | None:
    """Return the number of digits that scores are rounded to; None leaves them as they are."""
    return None if scored else 2


def _shared_fields(outcome: Outcome, *, scored: bool) -> dict[str, Any]:
    """Return the fields that are the same in both versions."""
    digits = _digits(scored=scored)
    response, kind = outcome.response, answer_type(outcome)
    cited = response.sources if isinstance(response, Reply) and kind == "RAG" else ()
    return {
        "answer_type": kind,
        "intent": outcome.trace.route.intent.value,
        "confidence": _probability(response.confidence, digits),
        "requires_escalation": kind == "ESCALATION_REQUIRED",
        "sources": _sources(cited, digits),
        "suggestions": _sources(
            () if isinstance(response, Reply) else response.suggestions, digits
        ),
        "remarks": list(outcome.remarks),
        "warnings": list(superseded_warnings(cited)),
    }


def _answer(outcome: Outcome, said: str) -> str:
    return "" if outcome.silent else said


def _parts(outcome: Outcome) -> AnswerParts:
    """Return the parts of an answer from the wiki; none for all else."""
    response = outcome.response
    if not isinstance(response, Reply) or answer_type(outcome) != "RAG":
        return AnswerParts([])
    return AnswerParts.model_validate(response.parts)


def _text(response: Response) -> str:
    if isinstance(response, Clarification) and response.options:
        options = "\n".join(f"- {option}" for option in response.options)
        return f"{response.text}\n\n{options}"
    return response.text


def _calls(trace: Trace) -> list[schemas.ModelCall]:
    """Return the model calls of the router and of the pipeline, each once."""
    calls = [*trace.route.calls, *(call for call in trace.calls if call not in trace.route.calls)]
    return [schemas.ModelCall.model_validate(asdict(call)) for call in calls]


def _sources(sources: Iterable[Source], digits: int | None) -> list[schemas.Source]:
    return [
        schemas.Source.model_validate(
            asdict(source)
            | {"url": openable(source.url), "relevance": _rounded(source.relevance, digits)}
        )
        for source in sources
    ]


def _probability(value: float | None, digits: int | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return _rounded(min(1.0, max(0.0, value)), digits)


def _rounded(value: float, digits: int | None) -> float:
    return value if digits is None else round(value, digits)


def _public_signals(signals: Mapping[str, float], *, scored: bool) -> schemas.Signals:
    return _finite({name: signals[name] for name in signals if scored or name in PUBLIC_SIGNALS})


def _finite(signals: Mapping[str, float]) -> schemas.Signals:
    """Replace infinite and NaN values by None: JSON has neither."""
    return {name: value if math.isfinite(value) else None for name, value in signals.items()}

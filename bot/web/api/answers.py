"""Map an outcome to the API's answer, in both versions; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any, Literal

from bot.answering.visibility import Visibility
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
from bot.domain.messages import Limit
from bot.domain.outcomes import AnswerType, answer_type, confidence_level
from bot.domain.text.formatting import superseded_warnings
from bot.domain.text.source_links import OWN_PAGES
from bot.web.api import schemas
from bot.web.problems import Problem, problem

Status = Literal["answered", "unknown", "error"]
StatusV2 = Literal[Status, "refused"]

NOT_FOUND_REASONS = frozenset({"low_confidence", "nothing_found", "unsupported"})
NOT_FOUND_V1 = "I don't have that information in the provided knowledge base."
"""What version 1 says where NOT_FOUND_MESSAGE is not set."""

_DEFAULT_WAIT: Mapping[str, int] = {"pause": 300, "queue": 60}
"""Seconds after which to ask again where nobody knows when a limit ends."""


PUBLIC_SIGNALS = frozenset({"keyword_rank", "vector_rank"})
"""What of a passage's signals is for everyone. Scores count words over all pages, also those that
an asker may not read, and would tell which words are there."""


def answer_v1(
    interaction_id: str,
    conversation_id: str,
    outcome: Outcome,
    not_found: str,
    *,
    scored: bool = True,
) -> schemas.Answer:
    """Return what a client of version 1 gets: ``not_found`` is said whatever was not found.

    Without ``scored`` confidence and relevance are in whole per cent.
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
    """Return an outcome as version 1 tells it, which knows no guesses: they are not answered."""
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
    """Return what a client gets; ``unsure`` is said instead of an answer without a source.

    Without ``scored`` confidence and relevance are in whole per cent.
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
        missing=response.missing if isinstance(response, Reply) else None,
        escalation_message=response.text if escalated else None,
        error=(_error(response) or "internal") if status == "error" else None,
        limit=None if limit is None else schemas.LimitMet.model_validate(asdict(limit)),
    )


def limit_of(outcome: Outcome) -> Limit | None:
    """Return the limit that refused a question, None where none did."""
    return outcome.response.limit if isinstance(outcome.response, Reply) else None


def limit_problem(
    interaction_id: str, conversation_id: str, outcome: Outcome, limit: Limit, now: datetime
) -> Problem:
    """Return the error for a question that a limit refused."""
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
    """An answer from the record, within what its reader may read now; scores for admins alone."""

    asked: Interaction
    seen: Visibility
    scored: bool

    @property
    def question(self) -> str:
        """What was asked."""
        return self.seen.question(self.asked)

    def answer(self, told: schemas.Answer | schemas.AnswerV2) -> schemas.Answer | schemas.AnswerV2:
        """Return an answer without what comes from pages that are closed."""
        outcome = self.asked.outcome
        if outcome is None:
            return told
        if not isinstance(told, schemas.AnswerV2):
            outcome = outcome_v1(outcome)
        explained = self.seen.explained(self.asked, outcome)
        pipeline = told.pipeline and pipeline_of(explained, scored=self.scored)
        if not self.seen.tells(self.asked):
            closed = {"answer": self.seen.why_closed, "sources": [], "suggestions": []}
            missing = {"missing": None} if isinstance(told, schemas.AnswerV2) else {}
            update = {**closed, **missing, "warnings": [], "pipeline": pipeline}
            return told.model_copy(update=update)
        response = outcome.response
        offered = () if isinstance(response, Reply) else self.seen.keeps(response.suggestions)
        suggestions = _sources(offered, _digits(scored=self.scored))
        return told.model_copy(update={"suggestions": suggestions, "pipeline": pipeline})


def pipeline_of(outcome: Outcome, *, scored: bool = True) -> schemas.Pipeline:
    """Return why this outcome, as recorded; without ``scored`` with ranks in place of scores."""
    trace = outcome.trace
    return schemas.Pipeline(
        route=schemas.Routed(
            intent=trace.route.intent.value,
            score=trace.route.score,
            decided_by=trace.route.decided_by,
            question=trace.route.question,
        ),
        passages=[
            schemas.Passage(
                chunk_id=passage.chunk_id,
                page_id=passage.page_id,
                title=passage.title,
                section=passage.section,
                signals=_finite(
                    {
                        name: value
                        for name, value in passage.signals.items()
                        if scored or name in PUBLIC_SIGNALS
                    }
                ),
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
        notes=list(trace.notes),
    )


def _status_v1(outcome: Outcome, kind: AnswerType) -> Status:
    response = outcome.response
    if isinstance(response, Escalation):
        if response.reason in NOT_FOUND_REASONS:
            return "unknown"
        return "error" if response.reason == "unavailable" else "answered"
    return "unknown" if kind in {"ESCALATION_REQUIRED", "SILENT"} else "answered"


def _status_v2(outcome: Outcome) -> StatusV2:
    response = outcome.response
    if isinstance(response, Reply) and response.refused:
        return "refused"
    return "error" if _error(response) else _status_v1(outcome, answer_type(outcome))


def _error(response: Response) -> ErrorCode | None:
    return None if isinstance(response, Clarification) else response.error


def _shows_own_text(response: Response, status: StatusV2) -> bool:
    """Tell whether a response's own words are shown: not those of a reply without a source."""
    return status != "unknown" or isinstance(response, Escalation)


def _statement(response: Response) -> str:
    """Return what is so, without what is done about a person."""
    stated = response.statement if isinstance(response, Escalation) else ""
    return stated or _text(response)


def _digits(*, scored: bool) -> int | None:
    """Return to how many digits scores are rounded; None: not at all."""
    return None if scored else 2


def _shared_fields(outcome: Outcome, *, scored: bool) -> dict[str, Any]:
    """Return the fields that both versions tell alike."""
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


def _text(response: Response) -> str:
    if isinstance(response, Clarification) and response.options:
        options = "\n".join(f"- {option}" for option in response.options)
        return f"{response.text}\n\n{options}"
    return response.text


def _calls(trace: Trace) -> list[schemas.ModelCall]:
    """Return the router's calls and the pipeline's, each once."""
    calls = [*trace.route.calls, *(call for call in trace.calls if call not in trace.route.calls)]
    return [schemas.ModelCall.model_validate(asdict(call)) for call in calls]


def _sources(sources: Iterable[Source], digits: int | None) -> list[schemas.Source]:
    return [
        schemas.Source.model_validate(
            asdict(source)
            | {"url": _openable(source.url), "relevance": _rounded(source.relevance, digits)}
        )
        for source in sources
    ]


def _openable(url: str) -> str:
    """Return an address that a client may offer as a link; a script's is none."""
    return url if url.startswith(("https://", "http://", OWN_PAGES)) else ""


def _probability(value: float | None, digits: int | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return _rounded(min(1.0, max(0.0, value)), digits)


def _rounded(value: float, digits: int | None) -> float:
    return value if digits is None else round(value, digits)


def _finite(signals: Mapping[str, float]) -> schemas.Signals:
    """JSON has no infinity."""
    return {name: value if math.isfinite(value) else None for name, value in signals.items()}

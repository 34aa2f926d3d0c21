"""An outcome as the API tells it; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from bot.adapters.rest import wire
from bot.escalations.reading import Sight
from bot.outcomes import AnswerType, answer_type
from bot.rendering.ages import warnings_of
from bot.rendering.links import OWN_PAGES
from bot.types import (
    Clarification,
    Escalation,
    Interaction,
    Outcome,
    Reply,
    Response,
    Source,
    Trace,
)

Status = Literal["answered", "unknown", "error"]

NOT_FOUND_REASONS = frozenset({"low_confidence", "nothing_found", "unsupported"})


def answer_of(
    interaction_id: str, conversation_id: str, outcome: Outcome, not_found: str
) -> wire.Answer:
    """Return what a client gets; ``not_found`` is said instead of an unconfirmed answer."""
    response = outcome.response
    kind = answer_type(outcome)
    status = _status(outcome, kind)
    cited = response.sources if isinstance(response, Reply) and kind == "RAG" else ()
    return wire.Answer(
        interaction_id=interaction_id,
        status=status,
        answer_type=kind,
        intent=outcome.trace.route.intent.value,
        answer=_answer(outcome, not_found if status == "unknown" else _text(response)),
        confidence=_share(response.confidence),
        requires_escalation=kind == "ESCALATION_REQUIRED",
        sources=_sources(cited),
        suggestions=_sources(() if isinstance(response, Reply) else response.suggestions),
        remarks=list(outcome.remarks),
        warnings=list(warnings_of(cited)),
        conversation_id=conversation_id,
    )


@dataclass(frozen=True, slots=True)
class SeenAnswer:
    """An answer from the record, within what its reader may read now."""

    asked: Interaction
    seen: Sight

    @property
    def question(self) -> str:
        """What was asked."""
        asked = self.seen.asked(self.asked)
        return self.seen.why_closed if asked is None else asked

    def answer(self, told: wire.Answer) -> wire.Answer:
        """Return an answer without what comes from pages that are closed."""
        outcome = self.asked.outcome
        if outcome is None:
            return told
        pipeline = told.pipeline and pipeline_of(self.seen.explained(self.asked, outcome))
        if not self.seen.tells(self.asked):
            closed = {"answer": self.seen.why_closed, "sources": [], "suggestions": []}
            return told.model_copy(update={**closed, "warnings": [], "pipeline": pipeline})
        response = outcome.response
        offered = () if isinstance(response, Reply) else self.seen.keeps(response.suggestions)
        return told.model_copy(update={"suggestions": _sources(offered), "pipeline": pipeline})


def pipeline_of(outcome: Outcome) -> wire.Pipeline:
    """Return why this outcome, as recorded."""
    trace = outcome.trace
    return wire.Pipeline(
        route=wire.Routed(
            intent=trace.route.intent.value,
            score=trace.route.score,
            decided_by=trace.route.decided_by,
            question=trace.route.question,
        ),
        passages=[
            wire.Passage(
                chunk_id=passage.chunk_id,
                page_id=passage.page_id,
                title=passage.title,
                section=passage.section,
                signals=_finite(passage.signals),
            )
            for passage in trace.passages
        ],
        model_calls=_calls(trace),
        filters=[wire.FilterVerdict.model_validate(asdict(verdict)) for verdict in trace.filters],
        gate=wire.Gate(
            name=trace.gate, threshold=trace.threshold, features=_finite(trace.features)
        ),
        timings_ms=_finite(trace.timings_ms),
        masked_question=trace.masked_question,
        notes=list(trace.notes),
    )


def _status(outcome: Outcome, kind: AnswerType) -> Status:
    response = outcome.response
    if isinstance(response, Escalation):
        if response.reason in NOT_FOUND_REASONS:
            return "unknown"
        return "error" if response.reason == "unavailable" else "answered"
    return "unknown" if kind in {"ESCALATION_REQUIRED", "SILENT"} else "answered"


def _answer(outcome: Outcome, said: str) -> str:
    return "" if outcome.silent else said


def _text(response: Response) -> str:
    if isinstance(response, Clarification) and response.options:
        options = "\n".join(f"- {option}" for option in response.options)
        return f"{response.text}\n\n{options}"
    return response.text


def _calls(trace: Trace) -> list[wire.ModelCall]:
    """Return the router's calls and the pipeline's, each once."""
    calls = [*trace.route.calls, *(call for call in trace.calls if call not in trace.route.calls)]
    return [wire.ModelCall.model_validate(asdict(call)) for call in calls]


def _sources(sources: Iterable[Source]) -> list[wire.Source]:
    return [
        wire.Source.model_validate(asdict(source) | {"url": _openable(source.url)})
        for source in sources
    ]


def _openable(url: str) -> str:
    """Return an address that a client may offer as a link; a script's is none."""
    return url if url.startswith(("https://", "http://", OWN_PAGES)) else ""


def _share(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return min(1.0, max(0.0, value))


def _finite(signals: Mapping[str, float]) -> wire.Signals:
    """JSON has no infinity."""
    return {name: value if math.isfinite(value) else None for name, value in signals.items()}

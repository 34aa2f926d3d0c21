"""Why an outcome: what the desk found and judged, for the record and for traces; pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.domain.types import ConfidenceLevel, ErrorCode, Route, Trace
from bot.gating.gate import Judgement
from bot.rendering.wording import found_passages
from rag import telemetry
from rag.pipeline import Retrieval
from rag.telemetry import Attributes
from rag.types import Answer, ModelCall


@dataclass(frozen=True, slots=True)
class Grounded:
    """What the index gave and what was made of it; ``answer`` is None when composing failed.

    ``error`` says why then. ``earlier`` are the model calls of a first answer that was thrown away,
    or of one that failed; ``notes`` say why.
    """

    retrieval: Retrieval
    answer: Answer | None
    judgement: Judgement
    earlier: tuple[ModelCall, ...] = ()
    notes: tuple[str, ...] = ()
    error: ErrorCode | None = None

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Return all model calls that it took."""
        return (*self.earlier, *(self.answer.calls if self.answer else ()))

    @property
    def probability(self) -> float:
        return self.judgement.probability

    @property
    def level(self) -> ConfidenceLevel | None:
        """Return how an answer is offered; None where there is none, or people are asked."""
        if self.answer is None or not self.answer.claims:
            return None
        return self.judgement.level(self.answer.missing)

    @property
    def passes(self) -> bool:
        """Tell whether it counts as answered; a guess does not."""
        return self.level in {"sure", "partial"}

    @property
    def gate(self) -> str:
        """Name what the gate decided, for the record."""
        if self.level is None:
            return "stopped"
        return "passed" if self.passes else "unsure"


def explained(trace: Trace, grounded: Grounded) -> Trace:
    """Add what was found, and what the gate made of it."""
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
        explained = noted(explained, "the answer could not be composed")
    return with_calls(explained, calls)


def with_calls(trace: Trace, calls: tuple[ModelCall, ...]) -> Trace:
    """Set the model calls, with what content filters said."""
    verdicts = tuple(verdict for call in calls for verdict in call.filters)
    return replace(trace, calls=calls, filters=verdicts)


def noted(trace: Trace, note: str) -> Trace:
    """Add a remark; it holds no text of anyone."""
    return replace(trace, notes=(*trace.notes, note))


def of_route(route: Route) -> Attributes:
    """Return what a trace tells of a route."""
    return {
        telemetry.INTENT: route.intent.value,
        telemetry.ROUTE_DECIDED_BY: route.decided_by,
        telemetry.ROUTE_SCORE: route.score,
    }


def of_gate(judged: Grounded) -> Attributes:
    """Return what a trace tells of the gate."""
    return {
        telemetry.EVALUATION_NAME: "gate",
        telemetry.EVALUATION_SCORE: judged.probability,
        telemetry.EVALUATION_LABEL: judged.gate,
        telemetry.GATE_THRESHOLD: judged.judgement.threshold,
    }

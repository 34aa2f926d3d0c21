"""An outcome as the API tells it; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Literal

from bot.adapters.rest import wire
from bot.outcomes import AnswerType, answer_type
from bot.rendering.ages import warnings_of
from bot.rendering.links import OWN_PAGES
from bot.types import Clarification, Escalation, Outcome, Reply, Response, Source, Trace

Status = Literal["answered", "unknown", "error"]

NOT_FOUND_REASONS = frozenset({"low_confidence", "nothing_found", "unsupported"})


ASKERS_SIGNALS = frozenset({"keyword_rank", "vector_rank"})
"""What of a passage's signals is for everyone. Scores count words over all pages, also those that
an asker may not read, and would tell which words are there."""


def answer_of(
    interaction_id: str,
    conversation_id: str,
    outcome: Outcome,
    not_found: str,
    *,
    scored: bool = True,
) -> wire.Answer:
    """Return what a client gets; ``not_found`` is said instead of an unconfirmed answer.

    Without ``scored`` confidence and relevance are in whole per cent.
    """
    digits = None if scored else 2
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
        confidence=_share(response.confidence, digits),
        requires_escalation=kind == "ESCALATION_REQUIRED",
        sources=_sources(cited, digits),
        suggestions=_sources(() if isinstance(response, Reply) else response.suggestions, digits),
        remarks=list(outcome.remarks),
        warnings=list(warnings_of(cited)),
        conversation_id=conversation_id,
    )


def pipeline_of(outcome: Outcome, *, scored: bool = True) -> wire.Pipeline:
    """Return why this outcome, as recorded; without ``scored`` with ranks in place of scores."""
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
                signals=_finite(
                    {
                        name: value
                        for name, value in passage.signals.items()
                        if scored or name in ASKERS_SIGNALS
                    }
                ),
            )
            for passage in trace.passages
        ],
        model_calls=_calls(trace),
        filters=[wire.FilterVerdict.model_validate(asdict(verdict)) for verdict in trace.filters],
        gate=wire.Gate(
            name=trace.gate,
            threshold=trace.threshold,
            features=_finite(trace.features if scored else {}),
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


def _sources(sources: Iterable[Source], digits: int | None) -> list[wire.Source]:
    return [
        wire.Source.model_validate(
            asdict(source)
            | {"url": _openable(source.url), "relevance": _rounded(source.relevance, digits)}
        )
        for source in sources
    ]


def _openable(url: str) -> str:
    """Return an address that a client may offer as a link; a script's is none."""
    return url if url.startswith(("https://", "http://", OWN_PAGES)) else ""


def _share(value: float | None, digits: int | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return _rounded(min(1.0, max(0.0, value)), digits)


def _rounded(value: float, digits: int | None) -> float:
    return value if digits is None else round(value, digits)


def _finite(signals: Mapping[str, float]) -> wire.Signals:
    """JSON has no infinity."""
    return {name: value if math.isfinite(value) else None for name, value in signals.items()}

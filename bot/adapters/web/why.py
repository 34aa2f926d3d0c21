"""Why this answer, or why none: the record in words, with the figures behind it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.types import Clarification, Escalation, Intent, Outcome, Reply, Trace

_ROUTES = {
    Intent.GENERIC: "small talk or general knowledge, so the company's pages were not searched",
    Intent.DOMAIN: "a question about the company, so its pages were searched",
    Intent.UNKNOWN: "possibly about the company, so its pages were searched to be safe",
    Intent.HUMAN: "a wish to speak to a person",
}
_DECIDERS = {
    "rule": "a fixed rule",
    "classifier": "the local classifier",
    "model": "the language model",
    "default": "the safe default",
}
_SIGNALS = ("keyword", "vector", "fused")


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A passage with its signals in the order of the table's columns."""

    title: str
    section: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WhyView:
    """The steps in words, the passages, and the figures."""

    steps: tuple[str, ...]
    signals: tuple[str, ...]
    passages: tuple[PassageRow, ...]
    figures: tuple[tuple[str, str], ...]


def why_view(outcome: Outcome) -> WhyView:
    """Return the explanation of an outcome."""
    trace = outcome.trace
    return WhyView(
        steps=tuple(_steps(outcome)),
        signals=_SIGNALS,
        passages=tuple(
            PassageRow(
                passage.title,
                passage.section,
                tuple(_figure(passage.signals.get(name)) for name in _SIGNALS),
            )
            for passage in trace.passages
        ),
        figures=tuple(_figures(trace)),
    )


def _steps(outcome: Outcome) -> list[str]:
    trace, route = outcome.trace, outcome.trace.route
    steps = [f"{_DECIDERS[route.decided_by].capitalize()} took it as {_ROUTES[route.intent]}."]
    if route.question and route.intent in {Intent.DOMAIN, Intent.UNKNOWN}:
        steps.append(f"Searched for: \u201c{route.question}\u201d.")
    if trace.passages:
        pages = len({passage.page_id for passage in trace.passages})
        steps.append(f"Read {len(trace.passages)} passages from {pages} pages you may read.")
    steps += [f"{note.capitalize()}." for note in trace.notes]
    return [*steps, _decision(outcome)]


def _decision(outcome: Outcome) -> str:
    response, threshold = outcome.response, outcome.trace.threshold
    match response:
        case Reply(refused=True):
            return "The language model or its safety filter declined."
        case Reply(tone="generic"):
            return "Answered without the pages, so there are no sources."
        case Clarification():
            return "Several pages fit equally well, so I asked back instead of guessing."
        case Escalation(reason="asked_for_human"):
            return "You asked for a person, so no answer was looked up."
    if response.confidence is None or threshold is None:
        return "It could not be looked up, so a person is needed."
    sure = f"{response.confidence:.0%} sure, and {threshold:.0%} is needed to answer"
    passed = isinstance(response, Reply)
    return f"The check was {sure}, {'so this is shown.' if passed else 'so a person is better.'}"


def _figures(trace: Trace) -> list[tuple[str, str]]:
    rows = [(f"time: {name}", f"{value:.1f} ms") for name, value in trace.timings_ms.items()]
    rows += [(f"signal: {name}", _figure(value)) for name, value in sorted(trace.features.items())]
    rows += [
        (
            f"model: {call.purpose}",
            f"{call.model}, {call.input_tokens} + {call.output_tokens} tokens, {call.prompt}",
        )
        for call in trace.calls
    ]
    return rows


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"

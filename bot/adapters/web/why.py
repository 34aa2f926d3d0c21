"""Why this answer, or why none: the record in a colleague's words, with the figures behind it."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import shorten

from bot.types import Clarification, Escalation, Intent, Outcome, Reply, Trace

_UNDERSTOOD = {
    Intent.GENERIC: "I took this as small talk or general knowledge, so I didn't search the wiki.",
    Intent.DOMAIN: "I took this as a question about the company.",
    Intent.UNKNOWN: "I wasn't sure that this is about the company, so I searched to be safe.",
    Intent.HUMAN: "I took this as a wish to talk to a person, so I didn't look for an answer.",
}
_DECIDERS = {
    "rule": "a fixed rule",
    "classifier": "the local classifier",
    "model": "the language model",
    "default": "the default",
}
_SIGNALS = {"keyword": "Same words", "vector": "Same meaning", "fused": "Together"}
_LONGEST_QUESTION = 200
_SEARCHED = {Intent.DOMAIN, Intent.UNKNOWN}
_REASONS = {
    "asked_for_human": (),
    "nothing_found": ("Nothing in the wiki is close enough to your question.",),
    "unsupported": ("I drafted an answer, but the pages don't support it, so I dropped it.",),
    "unavailable": ("Something on my side did not work, so there is no answer to show.",),
}


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
        signals=tuple(_SIGNALS.values()),
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
    route = outcome.trace.route
    searched = route.intent in _SEARCHED
    steps = [_UNDERSTOOD[route.intent]]
    if searched and route.question:
        looked_for = shorten(route.question, _LONGEST_QUESTION, placeholder=" \u2026")
        steps.append(f"I looked for \u201c{looked_for}\u201d in the wiki pages you may read.")
    if searched and outcome.trace.passages:
        steps.append(_read(outcome.trace))
    return [*steps, *_decision(outcome)]


def _read(trace: Trace) -> str:
    pages = len({passage.page_id for passage in trace.passages})
    count = len(trace.passages)
    closest = "the closest passage" if count == 1 else f"the {count} closest passages"
    return f"I read {closest}, from {pages} {'page' if pages == 1 else 'pages'}."


def _decision(outcome: Outcome) -> list[str]:
    response = outcome.response
    match response:
        case Reply(refused=True):
            return ["The language model or its safety filter declined to answer."]
        case Reply(tone="generic"):
            return ["There are no sources, because this did not come from the wiki."]
        case Clarification():
            return ["Several pages fit equally well, so I asked back instead of guessing."]
        case Escalation(reason=reason) if reason in _REASONS:
            return list(_REASONS[reason])
        case _:
            return _ruled_out(outcome) or _weighed(response, outcome.trace.threshold)


def _ruled_out(outcome: Outcome) -> list[str]:
    features = outcome.trace.features
    if isinstance(outcome.response, Reply) or not features:
        return []
    if not features.get("has_claims", 1):
        return ["None of them has a line that answers it."]
    if features.get("uncovered_identifiers"):
        return ["A number or code from your question is in none of them."]
    return []


def _weighed(response: Reply | Escalation, threshold: float | None) -> list[str]:
    if response.confidence is None or threshold is None:
        return []
    chance = f"I put the chance that I have the right answer at {response.confidence:.0%}"
    if isinstance(response, Reply):
        return [f"{chance}; I answer from {threshold:.0%} up."]
    return [f"{chance}. I answer only from {threshold:.0%} up, so I'd rather not guess."]


def _figures(trace: Trace) -> list[tuple[str, str]]:
    route = trace.route
    rows = [("decided by", f"{_DECIDERS[route.decided_by]}, {route.score:.2f}")]
    rows += [("note", note) for note in trace.notes]
    rows += [(f"time: {name}", f"{value:.1f} ms") for name, value in trace.timings_ms.items()]
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

"""Why this answer, or why none: the record in a colleague's words, with the figures behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.adapters.web.figures import Group, PassageRow, WeightRow, groups, passage_rows, weight_rows
from bot.adapters.web.ports import Weighs
from bot.gating.gate import Weight
from bot.pages.signals import FOUND_BY, signal_of
from bot.rendering.markdown import clip
from bot.types import Clarification, Escalation, Intent, Outcome, Reply, Trace

_UNDERSTOOD = {
    Intent.GENERIC: "I took this as small talk or general knowledge, so I didn't search the wiki.",
    Intent.DOMAIN: "I took this as a question about the company.",
    Intent.UNKNOWN: "I wasn't sure that this is about the company, so I searched to be safe.",
    Intent.HUMAN: "I took this as a wish to talk to a person, so I didn't look for an answer.",
}
_LONGEST_QUESTION = 200
_SEARCHED = {Intent.DOMAIN, Intent.UNKNOWN}
_REASONS = {
    "asked_for_human": "",
    "nothing_found": "Nothing in the wiki is close enough to your question.",
    "unsupported": "I drafted an answer, but the pages don't support it, so I dropped it.",
    "unavailable": "Something on my side did not work, so there is no answer to show.",
}
_RULED_OUT = {
    "no_line": "None of them has a line that answers it.",
    "no_code": "A number or code from your question is in none of them.",
}
_ENOUGH = {
    "nothing_found": "A page that speaks of this, and that you may read, would have been enough.",
    "unsupported": "A page that says it in so many words would have been enough.",
    "no_line": "A line on one of these pages that says it outright would have been enough.",
    "no_code": "A page that names this number or code would have been enough.",
}
_LIMIT = "limit:"
_COUNTS = 0.05
"""Log-odds from which on a signal is worth a word."""

_MOST_REASONS = 2


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the way, in words."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Sure:
    """How sure it was, and how sure it had to be; as written, and as places on a bar (0..100)."""

    told: str
    needed_told: str
    place: int
    needed: int


@dataclass(frozen=True, slots=True)
class WhyView:
    """The steps in words; then, behind folds, passages, signals and all other figures.

    ``has_context`` says that a passage was not found itself, but stands beside one that was.
    """

    steps: tuple[Step, ...]
    sure: Sure | None
    signals: tuple[str, ...]
    passages: tuple[PassageRow, ...]
    has_context: bool
    weights: tuple[WeightRow, ...]
    groups: tuple[Group, ...]


def why_view(outcome: Outcome, gate: Weighs) -> WhyView:
    """Return the explanation of an outcome; ``gate`` tells what each signal did to it."""
    trace = outcome.trace
    judged = _sure(outcome) is not None
    weights = gate.weights(trace.features, _composer(trace)) if judged else ()
    return WhyView(
        steps=tuple(_steps(outcome, weights)),
        sure=_sure(outcome),
        signals=tuple(FOUND_BY.values()),
        passages=passage_rows(trace.passages),
        has_context=not all(each.signals for each in trace.passages),
        weights=weight_rows(weights, trace.features),
        groups=groups(trace, {each.name for each in weights}),
    )


def _composer(trace: Trace) -> str:
    """Return who composed: the gate judges a model's answers by other signals."""
    return "model" if any(call.purpose == "answer" for call in trace.calls) else "extractive"


def _steps(outcome: Outcome, weights: Sequence[Weight]) -> list[Step]:
    if any(note.startswith(_LIMIT) for note in outcome.trace.notes):
        return [Step("Result", "I did not work on this: too much was asked, or I am paused.")]
    route = outcome.trace.route
    searched = route.intent in _SEARCHED
    steps = [Step("Your question", _UNDERSTOOD[route.intent])]
    if searched and route.question:
        looked_for = clip(route.question, _LONGEST_QUESTION)
        told = f"I looked for \u201c{looked_for}\u201d in the wiki pages you may read."
        steps.append(Step("Search", told))
    if searched and outcome.trace.passages:
        steps.append(Step("Reading", _read(outcome.trace)))
    steps += [Step("Result", text) for text in [_decision(outcome)] if text]
    return [*steps, *(Step("Missing", text) for text in [_missing(outcome, weights)] if text)]


def _read(trace: Trace) -> str:
    pages = len({passage.page_id for passage in trace.passages})
    count = len(trace.passages)
    closest = "the closest passage" if count == 1 else f"the {count} closest passages"
    return f"I read {closest}, from {pages} {'page' if pages == 1 else 'pages'}."


def _decision(outcome: Outcome) -> str:
    response = outcome.response
    match response:
        case Reply(refused=True):
            return "The language model or its safety filter declined to answer."
        case Reply(tone="generic"):
            return "There are no sources, because this did not come from the wiki."
        case Clarification():
            return "Several pages fit equally well, so I asked back instead of guessing."
        case Escalation(reason=reason) if reason in _REASONS:
            return _REASONS[reason]
        case _:
            return _RULED_OUT.get(_ruled_out(outcome)) or _weighed(outcome)


def _ruled_out(outcome: Outcome) -> str:
    features = outcome.trace.features
    if not isinstance(outcome.response, Escalation) or not features:
        return ""
    if not features.get("has_claims", 1):
        return "no_line"
    return "no_code" if features.get("uncovered_identifiers") else ""


def _weighed(outcome: Outcome) -> str:
    sure = _sure(outcome)
    if sure is None:
        return ""
    chance = f"I put the chance that I have the right answer at {sure.told}"
    if isinstance(outcome.response, Reply):
        return f"{chance}; I answer from {sure.needed_told} up."
    return f"{chance}. I answer only from {sure.needed_told} up, so I'd rather not guess."


def _sure(outcome: Outcome) -> Sure | None:
    """Return how sure it was; None where that did not decide."""
    response, threshold = outcome.response, outcome.trace.threshold
    weighed = isinstance(response, Reply) or (
        isinstance(response, Escalation) and response.reason == "low_confidence"
    )
    if not weighed or _ruled_out(outcome) or response.confidence is None or threshold is None:
        return None
    told, needed = _told_apart(response.confidence, threshold)
    return Sure(told, needed, round(response.confidence * 100), round(threshold * 100))


def _told_apart(confidence: float, threshold: float) -> tuple[str, str]:
    """Write both with as many digits as it takes to see which is more."""
    for digits in (0, 1, 2):
        told, needed = f"{confidence:.{digits}%}", f"{threshold:.{digits}%}"
        if told != needed or confidence >= threshold:
            return told, needed
    return f"just under {needed}", needed


def _missing(outcome: Outcome, weights: Sequence[Weight]) -> str:
    """Return what would have been enough, or what spoke most against an answer."""
    response = outcome.response
    if not isinstance(response, Escalation):
        return ""
    known = _ENOUGH.get(_ruled_out(outcome)) or _ENOUGH.get(response.reason)
    if known or _sure(outcome) is None:
        return known or ""
    against = _against(weights)
    if not against:
        return ""
    return f"What held me back: {' and '.join(against)}."


def _against(weights: Sequence[Weight]) -> list[str]:
    poor = sorted((each for each in weights if each.push < -_COUNTS), key=lambda each: each.push)
    said = [signal_of(each.name).against for each in poor]
    return list(dict.fromkeys(filter(None, said)))[:_MOST_REASONS]

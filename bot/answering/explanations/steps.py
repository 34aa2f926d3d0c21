"""Describe in words how a question was handled and how confident the answer was; no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.answering.explanations.signals import signal_of
from bot.answering.gate import FeatureWeight
from bot.domain.formatting import join_names
from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Trace
from bot.domain.markdown import clip
from bot.domain.messages import Intent, SearchFilters

_QUITE_SURE = 0.85
"""Confidence from which an answer above the threshold is called "quite sure"."""


@dataclass(frozen=True, slots=True)
class StatedConfidence:
    """The confidence of an answer and its threshold, in words, as text and as percent.

    ``told`` and ``needed_told`` are percentages as text, ``place`` and ``needed`` positions on a
    bar (0..100). The words claim no more than the gate does.
    """

    words: str
    told: str
    needed_told: str
    place: int
    needed: int


def stated_confidence(outcome: Outcome) -> StatedConfidence | None:
    """Return the confidence of an outcome; None if confidence did not decide it."""
    confidence, threshold = outcome.response.confidence, outcome.trace.threshold
    if not _confidence_decided(outcome) or confidence is None or threshold is None:
        return None
    return StatedConfidence(
        _confidence_words(confidence, threshold),
        *_percentages(confidence, threshold),
        round(confidence * 100),
        round(threshold * 100),
    )


def veto_reason(outcome: Outcome) -> str:
    """Return the gate's veto behind an escalation: "no_line", "no_code" or "" for none."""
    features = outcome.trace.features
    if not isinstance(outcome.response, Escalation) or not features:
        return ""
    if not features.get("has_claims", 1):
        return "no_line"
    return "no_code" if features.get("uncovered_identifiers") else ""


def _confidence_decided(outcome: Outcome) -> bool:
    match outcome.response:
        case Reply(refused=refused):
            return not refused
        case Escalation(reason="low_confidence"):
            return not veto_reason(outcome)
        case _:
            return False


def _confidence_words(confidence: float, threshold: float) -> str:
    if confidence < threshold:
        return "not sure enough"
    return "quite sure" if confidence >= _QUITE_SURE else "fairly sure"


def _percentages(confidence: float, threshold: float) -> tuple[str, str]:
    """Return both as whole percentages; a lower confidence never looks equal to the threshold.

    More digits would reveal how rare a word is in pages that the asker may not read.
    """
    told, needed = f"{confidence:.0%}", f"{threshold:.0%}"
    if told != needed or confidence >= threshold:
        return told, needed
    return f"just under {needed}", needed


LONGEST_QUESTION = 200

_UNDERSTOOD = {
    Intent.GENERIC: "I took this as small talk or general knowledge, so I didn't search the wiki.",
    Intent.DOMAIN: "I took this as a question about the company.",
    Intent.UNKNOWN: "I wasn't sure that this is about the company, so I searched to be safe.",
    Intent.HUMAN: "I took this as a wish to talk to a person, so I didn't look for an answer.",
}
_SEARCHED = {Intent.DOMAIN, Intent.UNKNOWN}
_REASONS = {
    "asked_for_human": "",
    "nothing_found": "Nothing in the wiki is close enough to {asked}.",
    "unsupported": "I drafted an answer, but the pages don't support it, so I dropped it.",
    "unavailable": "Something on my side did not work, so there is no answer to show.",
}
_RULED_OUT = {
    "no_line": "None of them has a line that answers it.",
    "no_code": "A number or code from {asked} is in none of them.",
}
_ENOUGH = {
    "nothing_found": "A page that speaks of this, and that you may read, would have been enough.",
    "unsupported": "A page that says it in so many words would have been enough.",
    "no_line": "A line on one of these pages that says it outright would have been enough.",
    "no_code": "A page that names this number or code would have been enough.",
}
_ENOUGH_FOR_ALL = {
    "nothing_found": "A page that speaks of this, and that everyone may read, would have been "
    "enough.",
}
_OVERHEARD = "Nobody asked me. Unasked, I speak only when I am sure, so I said nothing."
_UNRANKED = "The ranker of the search service did not answer, so they are in my own order."
_SAVED = (
    "All that was at {:%H:%M} UTC, for the same question of a colleague who may read the same "
    "pages. Nothing in these spaces has changed since, so I gave that answer again, after checking "
    "that you may read its sources."
)
_LIMIT = "limit:"
_NOT_WORKED_ON = (
    "I did not work on this: too much was asked, I am paused, or I don't answer in that place."
)
_LEAST_PUSH = 0.05
"""Least effect, in log-odds, of a signal that is mentioned."""

_MOST_REASONS = 2
_MOST_SPACES = 20
NO_FILTERS = SearchFilters()


@dataclass(frozen=True, slots=True)
class Step:
    """One step in the handling of a question, in words."""

    label: str
    text: str


def steps_of(
    outcome: Outcome,
    weights: Sequence[FeatureWeight],
    *,
    private: bool,
    own: bool = True,
    filters: SearchFilters = NO_FILTERS,
) -> tuple[Step, ...]:
    """Return the non-empty steps in order.

    Args:
        outcome: The outcome to explain.
        weights: The effects of the signals on the gate's probability.
        private: Whether the answer was for its asker alone, so that every page they may read was
            searched; a channel is answered only from pages that everyone may read.
        own: Whether the explanation is for the asker.
        filters: What the asker limited the search to.
    """
    if any(note.startswith(_LIMIT) for note in outcome.trace.notes):
        return (Step("Result", _NOT_WORKED_ON),)
    asked = "your question" if own else "the question"
    steps = [
        Step(asked.capitalize(), _UNDERSTOOD[outcome.trace.route.intent]),
        Step("Search", _search_sentence(outcome.trace, filters, private=private)),
        Step("Reading", _reading_sentence(outcome.trace)),
        Step("Saved answer", _saved_sentence(outcome.trace)),
        Step("Result", _result_sentence(outcome).format(asked=asked)),
        Step("Missing", _missing_sentence(outcome, weights, private=private).format(asked=asked)),
    ]
    return tuple(step for step in steps if step.text)


def _search_sentence(trace: Trace, filters: SearchFilters, *, private: bool) -> str:
    question = clip(trace.route.question, LONGEST_QUESTION)
    if trace.route.intent not in _SEARCHED or not question:
        return ""
    translated = clip(trace.route.search_query, LONGEST_QUESTION)
    looked_for = f"I looked for \u201c{translated or question}\u201d in the wiki pages"
    within = _filter_words(filters)
    if private:
        return f"{looked_for} you may read{within}."
    return f"{looked_for} that everyone may read{within}, for others see my answer too."


def _filter_words(filters: SearchFilters) -> str:
    """Return what the asker limited the search to, to follow a sentence; "" for nothing."""
    limits = [
        *([f"in {join_names(sorted(filters.spaces), _MOST_SPACES)}"] if filters.spaces else []),
        *([f"of the source type {filters.source_type}"] if filters.source_type else []),
    ]
    return f", only {' and '.join(limits)}" if limits else ""


def _reading_sentence(trace: Trace) -> str:
    if trace.route.intent not in _SEARCHED or not trace.passages:
        return ""
    pages = len({passage.page_id for passage in trace.passages})
    count = len(trace.passages)
    closest = "the closest passage" if count == 1 else f"the {count} closest passages"
    read = f"I read {closest}, from {pages} {'page' if pages == 1 else 'pages'}."
    unranked = any("reranker_absent" in passage.signals for passage in trace.passages)
    return f"{read} {_UNRANKED}" if unranked else read


def _saved_sentence(trace: Trace) -> str:
    used = trace.cache
    if used is None or used.result != "hit":
        return ""
    return _SAVED.format(used.answered_at)


def _result_sentence(outcome: Outcome) -> str:
    if not outcome.silent:
        return _reason(outcome)
    known = _reason(outcome) if isinstance(outcome.response, Escalation) else ""
    return f"{known} {_OVERHEARD}".lstrip()


def _reason(outcome: Outcome) -> str:
    response = outcome.response
    match response:
        case Reply(refused=True):
            return "The language model or its safety filter declined to answer."
        case Reply(tone="generic"):
            return "There are no sources, because this did not come from the wiki."
        case Clarification() if outcome.trace.route.intent is Intent.HUMAN:
            return "No question was named for them, so I asked what it is about."
        case Clarification():
            return "Several pages fit equally well, so I asked back instead of guessing."
        case Escalation(reason=reason) if reason in _REASONS:
            return _REASONS[reason]
        case _:
            return _RULED_OUT.get(veto_reason(outcome)) or _confidence_sentence(outcome)


def _confidence_sentence(outcome: Outcome) -> str:
    sure = stated_confidence(outcome)
    if sure is None:
        return ""
    chance = f"I put the chance that I have the right answer at {sure.told}"
    match outcome.response:
        case Reply(confidence_level="unsure"):
            return f"{chance}. I answer from {sure.needed_told} up, so this is only a guess."
        case Reply(confidence_level="partial"):
            return f"{chance}; I answer from {sure.needed_told} up. It is a part of an answer."
        case Reply():
            return f"{chance}; I answer from {sure.needed_told} up."
        case _:
            pass
    return f"{chance}. I answer only from {sure.needed_told} up, so I'd rather not guess."


def _missing_sentence(outcome: Outcome, weights: Sequence[FeatureWeight], *, private: bool) -> str:
    """Return a sentence on what would have sufficed, or on the strongest doubts; or ""."""
    response = outcome.response
    if isinstance(response, Reply):
        return _missing_in_reply(response, weights)
    if not isinstance(response, Escalation):
        return ""
    enough = _ENOUGH if private else {**_ENOUGH, **_ENOUGH_FOR_ALL}
    known = enough.get(veto_reason(outcome)) or enough.get(response.reason)
    if known or stated_confidence(outcome) is None:
        return known or ""
    return _doubts_sentence(weights)


def _missing_in_reply(reply: Reply, weights: Sequence[FeatureWeight]) -> str:
    """Return the ``missing`` part of an answer, else the strongest doubts of an unsure one."""
    if reply.missing:
        return f"The wiki doesn't say: {_escape_braces(reply.missing)}"
    return _doubts_sentence(weights) if reply.confidence_level == "unsure" else ""


def _doubts_sentence(weights: Sequence[FeatureWeight]) -> str:
    against = _strongest_doubts(weights)
    return f"What held me back: {' and '.join(against)}." if against else ""


def _escape_braces(text: str) -> str:
    """Return a text with braces doubled, because the step is passed to str.format()."""
    return text.replace("{", "{{").replace("}", "}}")


def _strongest_doubts(weights: Sequence[FeatureWeight]) -> list[str]:
    poor = sorted(
        (each for each in weights if each.push < -_LEAST_PUSH), key=lambda each: each.push
    )
    said = [signal_of(each.name).against for each in poor]
    return list(dict.fromkeys(filter(None, said)))[:_MOST_REASONS]

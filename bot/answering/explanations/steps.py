"""Describe in words how a question was handled and how confident the answer was; no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.answering.explanations.signals import signal_of
from bot.answering.gate import FeatureWeight
from bot.domain.formatting import join_names
from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Trace
from bot.domain.markdown import clip
from bot.domain.messages import Intent, SearchFilters
from bot.domain.texts import join_texts, tr, trn

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
        return tr("not confident enough")
    return tr("very confident") if confidence >= _QUITE_SURE else tr("fairly confident")


def _percentages(confidence: float, threshold: float) -> tuple[str, str]:
    """Return both as whole percentages; a lower confidence never looks equal to the threshold.

    More digits would reveal how rare a word is in pages that the asker may not read.
    """
    told, needed = f"{confidence:.0%}", f"{threshold:.0%}"
    if told != needed or confidence >= threshold:
        return told, needed
    return tr("just under {share}", share=needed), needed


LONGEST_QUESTION = 200

_UNDERSTOOD = {
    Intent.GENERIC: tr(
        "I understood this as small talk or general knowledge, so I didn't search the wiki."
    ),
    Intent.DOMAIN: tr("I understood this as a question about the company."),
    Intent.UNKNOWN: tr(
        "I wasn't sure whether this is about the company, so I searched to be on the safe side."
    ),
    Intent.HUMAN: tr(
        "I understood that you want to talk to a person, so I didn't look for an answer."
    ),
}
_SEARCHED = {Intent.DOMAIN, Intent.UNKNOWN}
_REASONS: Mapping[str, str] = {
    "asked_for_human": "",
    "nothing_found": tr("I couldn't find anything in the wiki that matches the question."),
    "unsupported": tr("I drafted an answer, but the pages don't support it, so I dropped it."),
    "unavailable": tr("Something went wrong on my side, so there is no answer to show."),
    "waited": tr("More people were asking than I could answer, and it waited too long."),
}
_RULED_OUT = {
    "no_line": tr("None of them has a line that answers it."),
    "no_code": tr("A number or code from the question is in none of them."),
}
_ENOUGH = {
    "nothing_found": tr("A page about this that you can read would have been enough."),
    "unsupported": tr("A page that says so explicitly would have been enough."),
    "no_line": tr("A line on one of these pages that says so explicitly would have been enough."),
    "no_code": tr("A page that mentions this number or code would have been enough."),
}
_ENOUGH_FOR_ALL = {
    "nothing_found": tr("A page about this that everyone can read would have been enough."),
}
_OVERHEARD = tr(
    "The message wasn't addressed to me. I only join in when I am sure, so I said nothing."
)
_UNRANKED = tr("The search service's ranker did not respond, so they are in my own order.")
_RESULT = tr("Result")
_LIMIT = "limit:"
_NOT_WORKED_ON = tr(
    "I did not work on this: there were too many questions, I am paused, or I don't answer there."
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
    is_result: bool = False


def steps_of(
    outcome: Outcome,
    weights: Sequence[FeatureWeight],
    *,
    private: bool,
    filters: SearchFilters = NO_FILTERS,
) -> tuple[Step, ...]:
    """Return the non-empty steps in order.

    Args:
        outcome: The outcome to explain.
        weights: The effects of the signals on the gate's probability.
        private: Whether the answer was for its asker alone, so that every page they may read was
            searched; a channel is answered only from pages that everyone may read.
        filters: What the asker limited the search to.
    """
    if any(note.startswith(_LIMIT) for note in outcome.trace.notes):
        return (Step(_RESULT, _NOT_WORKED_ON, is_result=True),)
    steps = [
        Step(tr("Question"), _UNDERSTOOD[outcome.trace.route.intent]),
        Step(tr("Search"), _search_sentence(outcome.trace, filters, private=private)),
        Step(tr("Reading"), _reading_sentence(outcome.trace)),
        Step(tr("Saved answer"), _saved_sentence(outcome.trace)),
        Step(_RESULT, _result_sentence(outcome), is_result=True),
        Step(tr("Missing"), _missing_sentence(outcome, weights, private=private)),
    ]
    return tuple(step for step in steps if step.text)


def _search_sentence(trace: Trace, filters: SearchFilters, *, private: bool) -> str:
    question = clip(trace.route.question, LONGEST_QUESTION)
    if trace.route.intent not in _SEARCHED or not question:
        return ""
    translated = clip(trace.route.search_query, LONGEST_QUESTION)
    looked_for = tr("I searched for \u201c{question}\u201d", question=translated or question)
    within = _filter_words(filters)
    told = {"searched": looked_for, "limits": within}
    if private and within:
        return tr("{searched} in the wiki pages you can read, only {limits}.", **told)
    if private:
        return tr("{searched} in the wiki pages you can read.", searched=looked_for)
    if within:
        return tr(
            "{searched} in the wiki pages everyone can read, only {limits}, because others see my "
            "answer, too.",
            **told,
        )
    return tr(
        "{searched} in the wiki pages everyone can read, because others see my answer, too.",
        searched=looked_for,
    )


def _filter_words(filters: SearchFilters) -> str:
    """Return what the asker limited the search to, for the middle of a sentence; "" for nothing."""
    limits: list[str] = []
    if filters.spaces:
        limits.append(tr("in {spaces}", spaces=join_names(sorted(filters.spaces), _MOST_SPACES)))
    if filters.source_type:
        limits.append(tr("from sources of type {type}", type=filters.source_type))
    return _and(limits) if limits else ""


def _and(texts: Sequence[str]) -> str:
    """Return one text, or two joined."""
    if len(texts) < 2:  # noqa: PLR2004 - two are joined
        return texts[0]
    return tr("{first} and {second}", first=texts[0], second=texts[1])


def _reading_sentence(trace: Trace) -> str:
    if trace.route.intent not in _SEARCHED or not trace.passages:
        return ""
    pages = len({passage.page_id for passage in trace.passages})
    count = len(trace.passages)
    read = trn(
        "I read the best matching passage, from {pages}.",
        "I read the {n} best matching passages, from {pages}.",
        count,
        pages=trn("{n} page", "{n} pages", pages),
    )
    unranked = any("reranker_absent" in passage.signals for passage in trace.passages)
    return join_texts(" ", (read, _UNRANKED)) if unranked else read


def _saved_sentence(trace: Trace) -> str:
    used = trace.cache
    if used is None or used.result != "hit":
        return ""
    return tr(
        "This was answered at {time} UTC for the same question from a colleague with the same "
        "access. Nothing in these spaces has changed since, so I gave that answer again, after "
        "checking that you can read its sources.",
        time=f"{used.answered_at:%H:%M}",
    )


def _result_sentence(outcome: Outcome) -> str:
    if not outcome.silent:
        return _reason(outcome)
    known = _reason(outcome) if isinstance(outcome.response, Escalation) else ""
    return join_texts(" ", filter(None, (known, _OVERHEARD)))


def _reason(outcome: Outcome) -> str:
    response = outcome.response
    match response:
        case Reply(refused=True):
            return tr("The language model or its safety filter declined to answer.")
        case Reply(tone="generic"):
            return tr("There are no sources because this did not come from the wiki.")
        case Clarification() if outcome.trace.route.intent is Intent.HUMAN:
            return tr("You didn't say what it is about, so I asked.")
        case Clarification():
            return tr("Several pages match equally well, so I asked instead of guessing.")
        case Escalation(reason=reason) if reason in _REASONS:
            return _REASONS[reason]
        case _:
            return _RULED_OUT.get(veto_reason(outcome)) or _confidence_sentence(outcome)


def _confidence_sentence(outcome: Outcome) -> str:
    sure = stated_confidence(outcome)
    if sure is None:
        return ""
    told = {"confidence": sure.told, "needed": sure.needed_told}
    match outcome.response:
        case Reply(confidence_level="unsure"):
            return tr(
                "My confidence is {confidence}; I need {needed} to answer, so this is a guess.",
                **told,
            )
        case Reply(confidence_level="partial"):
            return tr(
                "My confidence is {confidence}; I need {needed} to answer. Part of the question is "
                "left open.",
                **told,
            )
        case Reply():
            return tr("My confidence is {confidence}; I need {needed} to answer.", **told)
        case _:
            return tr(
                "My confidence is {confidence}; I need {needed} to answer, so I don't guess.",
                **told,
            )


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
        return tr("Missing in the wiki: {missing}", missing=reply.missing)
    return _doubts_sentence(weights) if reply.confidence_level == "unsure" else ""


def _doubts_sentence(weights: Sequence[FeatureWeight]) -> str:
    against = _strongest_doubts(weights)
    return tr("What made me unsure: {reasons}.", reasons=_and(against)) if against else ""


def _strongest_doubts(weights: Sequence[FeatureWeight]) -> list[str]:
    poor = sorted(
        (each for each in weights if each.push < -_LEAST_PUSH), key=lambda each: each.push
    )
    said = [signal_of(each.name).against for each in poor]
    return list(dict.fromkeys(filter(None, said)))[:_MOST_REASONS]

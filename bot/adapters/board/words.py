"""The record's terms in a colleague's words; pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import get_args

from bot.adapters.board.amounts import duration
from bot.domain.cases import Case, State
from bot.domain.feedback import Reason
from bot.domain.outcomes import AnswerType, answer_type, confidence_level, refusal_note
from bot.domain.record_search import AskedQuestion
from bot.domain.text.markdown import clip
from bot.domain.types import ConfidenceLevel, EscalationReason, Intent, Interaction, Status
from bot.domain.users import short_user_name

STATES: Mapping[State, str] = {
    "open": "Waiting",
    "reopened": "Waiting again",
    "claimed": "Claimed",
    "answered": "Answered",
    "resolved": "Resolved",
    "declined": "Declined",
}
REASONS: Mapping[EscalationReason, str] = {
    "asked_for_human": "Asked for a person",
    "low_confidence": "Not sure enough",
    "nothing_found": "Nothing found",
    "unsupported": "No page supports an answer",
    "unavailable": "Something did not work",
    "undelivered": "Answer could not be delivered",
}
BECAME: Mapping[AnswerType, str] = {
    "RAG": "Answered from the wiki",
    "GENERIC": "Answered without the wiki",
    "CLARIFICATION": "Asked back",
    "ESCALATION_REQUIRED": "Not answered",
    "SILENT": "Left alone",
}
LEVELS: Mapping[ConfidenceLevel, str] = {
    "sure": "Answered from the wiki",
    "partial": "Answered in part",
    "unsure": "A guess was shown",
}
OFFERED: Mapping[ConfidenceLevel, str] = {
    "sure": "Sure",
    "partial": "Partial: something is missing",
    "unsure": "Unsure: shown as a guess, nobody was asked",
}
REFUSED: Mapping[str, str] = {
    "pause": "Refused: paused",
    "queue_full": "Refused: too many at once",
    "channel_off": "Refused: answers are off there",
    "outsiders": "Refused: not a colleague",
    "outsiders_not_known": "Refused: not known who asked",
    "asked_already": "Refused: asked for already",
    "card_thread": "Refused: written below a card",
}
"""Why a question was not worked on, by the note of its refusal; all others are limits."""

REFUSED_KIND = "REFUSED"
PARTLY: tuple[ConfidenceLevel, ...] = ("partial", "unsure")
"""Levels that are searched for by themselves; all answers from the wiki are found together."""

FOUND = (
    *BECAME.items(),
    *((level, LEVELS[level]) for level in PARTLY),
    (REFUSED_KIND, "Refused: limit or pause"),
)
"""What became of questions, to be searched by."""

INTENTS: Mapping[Intent, str] = {
    Intent.DOMAIN: "About the company",
    Intent.UNKNOWN: "Perhaps about the company",
    Intent.GENERIC: "Small talk or general",
    Intent.HUMAN: "Wants a person",
}
JUDGED: Mapping[Reason, str] = {
    "wrong": "Wrong",
    "incomplete": "Incomplete",
    "outdated": "Outdated",
    "off_topic": "Off topic",
    "unclear": "Hard to understand",
    "other": "Other",
}
PLATFORMS: Mapping[str, str] = {
    "slack": "Slack",
    "teams": "Teams",
    "web": "Web chat",
    "rest": "API",
}
_CASES: Mapping[State, str] = {
    "open": "Waits for a person",
    "reopened": "Waits for a person again",
    "claimed": "A person has it",
    "answered": "Answered by a person",
    "resolved": "Resolved by a person",
    "declined": "Declined by people",
}

_ENDED: Mapping[Status, str] = {
    "working": "Being worked on",
    "failed": "Could not be delivered",
    "cancelling": "Withdrawn by its asker",
    "cancelled": "Withdrawn by its asker",
}
_LONGEST_LINE = 240


def became(question: AskedQuestion) -> str:
    """Say what became of a question."""
    if question.status in _ENDED:
        return _ENDED[question.status]
    if question.case is not None:
        return _CASES[question.case]
    if question.refused:
        return _refused(question.refused)
    if question.level is not None:
        return LEVELS[question.level]
    return BECAME[question.answer_type] if question.answer_type else "No outcome"


def ended(asked: Interaction) -> str:
    """Say how the work on a question ended."""
    if asked.status in _ENDED:
        return _ENDED[asked.status]
    if asked.outcome is None:
        return "No outcome"
    note = refusal_note(asked.outcome)
    if note:
        return _refused(note)
    level = confidence_level(asked.outcome)
    return LEVELS[level] if level else BECAME[answer_type(asked.outcome)]


def _refused(note: str) -> str:
    return REFUSED.get(note, "Refused: limit")


def place(channel: str, *, private: bool) -> str:
    """Say where something was asked, from ``platform:channel``."""
    platform, _, name = channel.partition(":")
    called = PLATFORMS.get(platform, platform)
    if platform in {"web", "rest"} or not name:
        return called
    return f"{called}, direct message" if private else f"{called}, channel {name}"


def who(name: str, person_id: str) -> str:
    """Name somebody, by what a platform calls them where it tells no name.

    Browsers without a sign-in are told apart by the beginning of their id.
    """
    return name or short_user_name(person_id)


def asker(case: Case) -> str:
    """Name who asked, and say so if they are no colleague."""
    return f"{who(case.asker_name, case.asker_id)}{case.asker_mark}"


def judged(reason: str | None) -> str:
    """Name the reason of a judgement; one that an older version kept stays as it is."""
    if reason is None:
        return ""
    return JUDGED[reason] if reason in get_args(Reason) else reason  # type: ignore[index]  # just looked up


def one_line(text: str) -> str:
    """Return a text short enough for a list."""
    return clip(text, _LONGEST_LINE) or "(no words)"


def age(span: timedelta) -> str:
    """Return how long something lasts by now; a clock that is behind counts as nothing."""
    seconds = max(0.0, span.total_seconds())
    return "less than a minute" if seconds < 60 else duration(seconds)  # noqa: PLR2004 - a minute


def moment(at: datetime) -> str:
    """Return a moment for those whose browser does not make it local."""
    return f"{at.astimezone(UTC):%d %b %Y, %H:%M} UTC"


def sure(confidence: float | None) -> str:
    """Return a confidence in percent; nothing for none."""
    return "" if confidence is None else f"{confidence:.0%}"

"""The board's display labels for states, reasons, levels and index runs; no I/O.

Templates access this module as ``words`` and, for index runs, as ``tell``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import get_args

from bot.chat.commands import command_texts
from bot.chat.commands.command_texts import change_counts, pace
from bot.chat.commands.run_status import run_status_of
from bot.domain.cases import Case, State
from bot.domain.formatting import counted, rough_duration
from bot.domain.interactions import ConfidenceLevel, EscalationReason, Interaction, Reason, Status
from bot.domain.markdown import clip
from bot.domain.messages import Intent
from bot.domain.outcomes import AnswerType, answer_type, confidence_level, refusal_note
from bot.domain.record_search import AskedQuestion
from bot.domain.users import short_actor_name, short_user_name
from bot.web.board.figures import duration
from ingestion.records.types import Run
from ingestion.runs.schedule import Next

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
"""Labels of refused questions, by the note of the refusal; all other notes are limits."""

REFUSED_KIND = "REFUSED"
PARTLY: tuple[ConfidenceLevel, ...] = ("partial", "unsure")
"""Levels that are search filters of their own; RAG finds all answers from the wiki."""

FOUND = (
    *BECAME.items(),
    *((level, LEVELS[level]) for level in PARTLY),
    (REFUSED_KIND, "Refused: limit or pause"),
)
"""The options of the filter by result."""

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
_CASE_LABELS: Mapping[State, str] = {
    "open": "Waits for a person",
    "reopened": "Waits for a person again",
    "claimed": "A person has it",
    "answered": "Answered by a person",
    "resolved": "Resolved by a person",
    "declined": "Declined by people",
}

_STATUS_LABELS: Mapping[Status, str] = {
    "working": "Being worked on",
    "failed": "Could not be delivered",
    "cancelling": "Withdrawn by its asker",
    "cancelled": "Withdrawn by its asker",
}
_MAX_LINE = 240


def became(question: AskedQuestion) -> str:
    """Return the label of a listed question's result."""
    if question.status in _STATUS_LABELS:
        return _STATUS_LABELS[question.status]
    if question.case is not None:
        return _CASE_LABELS[question.case]
    if question.refused:
        return _refused(question.refused)
    if question.level is not None:
        return LEVELS[question.level]
    return BECAME[question.answer_type] if question.answer_type else "No outcome"


def ended(asked: Interaction) -> str:
    """Return the label of a recorded question's result."""
    if asked.status in _STATUS_LABELS:
        return _STATUS_LABELS[asked.status]
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
    """Return the place where a question was asked, from ``platform:channel``."""
    platform, _, name = channel.partition(":")
    called = PLATFORMS.get(platform, platform)
    if platform in {"web", "rest"} or not name:
        return called
    return f"{called}, direct message" if private else f"{called}, channel {name}"


def who(name: str, person_id: str) -> str:
    """Return a person's name, or a short form of their id where the platform gives none.

    Browsers without a sign-in are distinguished by the beginning of their id.
    """
    return name or short_user_name(person_id)


def asker(case: Case) -> str:
    """Return the asker's name, with a mark if they are not a colleague."""
    return f"{who(case.asker_name, case.asker_id)}{case.asker_mark}"


def judged(reason: str | None) -> str:
    """Return the label of a feedback reason; an unknown one of an older version as it is."""
    if reason is None:
        return ""
    return JUDGED[reason] if reason in get_args(Reason) else reason  # type: ignore[index]  # just looked up


def one_line(text: str) -> str:
    """Return a text on one line, cut for a list."""
    return clip(text, _MAX_LINE) or "(no words)"


def age(span: timedelta) -> str:
    """Return a duration up to now; negative ones (a clock that is behind) count as zero."""
    seconds = max(0.0, span.total_seconds())
    return "less than a minute" if seconds < 60 else duration(seconds)  # noqa: PLR2004 - a minute


def moment(at: datetime) -> str:
    """Return a time in UTC, for browsers that do not convert it to local time."""
    return f"{at.astimezone(UTC):%d %b %Y, %H:%M} UTC"


def sure(confidence: float | None) -> str:
    """Return a confidence in percent; empty for None."""
    return "" if confidence is None else f"{confidence:.0%}"


SOURCES: Mapping[str, str] = {
    "upload": "Uploaded documents",
    "answer": "Answers by people",
    "folder": "A folder of files",
    "confluence": "Confluence",
}
_STARTERS: Mapping[str, str] = {"schedule": "by schedule", "start": "after an interruption"}
_EXTENT_LABELS: Mapping[str, str] = {
    "all": "every page is looked at",
    "changes": "what changed is looked at",
    "page": "one page is looked at",
}
_RUN_LABELS: Mapping[str, str] = {
    "failed": "Stopped by a problem",
    "cancelled": "Cancelled; what was written stays",
    "interrupted": "Interrupted; the next start goes on with it",
}


def source(kind: str) -> str:
    """Return the label of a space's source."""
    return SOURCES.get(kind, kind or "Not known")


def over(run: Run) -> str:
    """Return the label of a run's scope."""
    named = command_texts.run_scope(run)
    # Space names keep their capitalisation.
    return named if named == run.space else f"{named[:1].upper()}{named[1:]}"


def began(run: Run, names: Mapping[str, str], *, named: bool) -> str:
    """Return what started a run; people only if ``named``, by their name in ``names`` if known."""
    if run.by in _STARTERS:
        return _STARTERS[run.by]
    return f"by {short_actor_name(run.by, names)}" if named else ""


def upcoming(each: Next | None, now: datetime) -> str:
    """Return the next scheduled run in words, "" for None."""
    if each is None:
        return ""
    seconds = (each.at - now).total_seconds()
    when = f"in {rough_duration(seconds)}" if seconds > 0 else "now"
    return f"{_EXTENT_LABELS[each.extent]} {when}"


def standing(run: Run) -> str:
    """Return a run's progress or result in words."""
    match run.state:
        case "waiting":
            return "Waits for its turn"
        case "running":
            return _progress(run)
        case "done":
            return _report(run)
        case _:
            return _RUN_LABELS[run.state]


def _progress(run: Run) -> str:
    place = f"{run.at_space}: " if run.space is None and run.at_space else ""
    if not run.total:
        return f"{place}Looking for what changed \u2026"
    told = run_status_of(run.id, (run,))
    left = f", {told.remaining} left" if told.remaining else ""
    return f"{place}{pace(told)}{left}"


def _report(run: Run) -> str:
    unread = (f"{run.failed:,} could not be read",) if run.failed else ()
    found = (*change_counts(run_status_of(run.id, (run,))), *unread)
    if not found:
        return f"Nothing to do: {counted(run.unchanged, 'page')} up to date"
    listed = ", ".join(found)
    return f"A real run would find: {listed}" if run.dry_run else f"Done: {listed}"

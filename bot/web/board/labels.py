"""The board's display labels for states, reasons, levels and index runs; no I/O.

Templates access this module as ``words`` and, for index runs, as ``tell``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import get_args

from bot.chat.commands import command_texts
from bot.chat.commands.command_texts import change_counts, pace
from bot.chat.commands.run_status import run_status_of
from bot.domain.cases import Case, State
from bot.domain.formatting import rough_duration
from bot.domain.interactions import ConfidenceLevel, EscalationReason, Interaction, Reason, Status
from bot.domain.markdown import clip
from bot.domain.messages import Intent
from bot.domain.outcomes import (
    AnswerType,
    answer_type,
    confidence_level,
    question_text,
    refusal_note,
)
from bot.domain.record_search import AskedQuestion
from bot.domain.texts import changed, join_texts, tr, trn
from bot.domain.texts.dates import duration, utc_moment
from bot.domain.users import short_actor_name, short_user_name
from ingestion.records.types import Run
from ingestion.runs.schedule import Next

STATES: Mapping[State, str] = {
    "open": tr("Waiting"),
    "reopened": tr("Reopened"),
    "claimed": tr("Claimed"),
    "answered": tr("Answered"),
    "resolved": tr("Resolved"),
    "declined": tr("Declined"),
}
REASONS: Mapping[EscalationReason, str] = {
    "asked_for_human": tr("Asked for a person"),
    "low_confidence": tr("Not confident enough"),
    "nothing_found": tr("Nothing found"),
    "unsupported": tr("No page supports an answer"),
    "unavailable": tr("Technical problem"),
    "waited": tr("Waited too long"),
    "undelivered": tr("Answer could not be delivered"),
}
BECAME: Mapping[AnswerType, str] = {
    "RAG": tr("Answered from the wiki"),
    "GENERIC": tr("Answered without the wiki"),
    "CLARIFICATION": tr("Follow-up question"),
    "ESCALATION_REQUIRED": tr("Not answered"),
    "SILENT": tr("Ignored"),
}
LEVELS: Mapping[ConfidenceLevel, str] = {
    "sure": tr("Answered from the wiki"),
    "partial": tr("Partially answered"),
    "unsure": tr("Guess shown"),
}
OFFERED: Mapping[ConfidenceLevel, str] = {
    "sure": tr("Sure"),
    "partial": tr("Partial: something is missing"),
    "unsure": tr("Unsure: shown as a guess, nobody was asked"),
}
REFUSED: Mapping[str, str] = {
    "pause": tr("Rejected: paused"),
    "queue_full": tr("Rejected: too many at once"),
    "channel_off": tr("Rejected: answers are off there"),
    "outsiders": tr("Rejected: not a colleague"),
    "outsiders_not_known": tr("Rejected: asker unknown"),
    "asked_already": tr("Rejected: already asked"),
    "card_thread": tr("Rejected: written below a card"),
}
"""Labels of refused questions, by the note of the refusal; all other notes are limits."""

REFUSED_KIND = "REFUSED"
PARTLY: tuple[ConfidenceLevel, ...] = ("partial", "unsure")
"""Levels that are search filters of their own; RAG finds all answers from the wiki."""

FOUND = (
    *BECAME.items(),
    *((level, LEVELS[level]) for level in PARTLY),
    (REFUSED_KIND, tr("Rejected: limit or pause")),
)
"""The options of the filter by result."""

INTENTS: Mapping[Intent, str] = {
    Intent.DOMAIN: tr("About the company"),
    Intent.UNKNOWN: tr("Possibly about the company"),
    Intent.GENERIC: tr("Small talk or general"),
    Intent.HUMAN: tr("Wants a person"),
}
JUDGED: Mapping[Reason, str] = {
    "wrong": tr("Wrong"),
    "incomplete": tr("Incomplete"),
    "outdated": tr("Outdated"),
    "off_topic": tr("Off topic"),
    "unclear": tr("Hard to understand"),
    "other": tr("Other"),
}
PLATFORMS: Mapping[str, str] = {
    "slack": "Slack",
    "teams": "Teams",
    "web": tr("Web chat"),
    "rest": "API",
}
_CASE_LABELS: Mapping[State, str] = {
    "open": tr("Waiting for a person"),
    "reopened": tr("Waiting for a person again"),
    "claimed": tr("With a person"),
    "answered": tr("Answered by a person"),
    "resolved": tr("Resolved by a person"),
    "declined": tr("Declined by a person"),
}

_STATUS_LABELS: Mapping[Status, str] = {
    "working": tr("In progress"),
    "failed": tr("Could not be delivered"),
    "cancelling": tr("Withdrawn by the asker"),
    "cancelled": tr("Withdrawn by the asker"),
}
_LIMIT = tr("Rejected: limit")
_MAX_LINE = 240
_MAX_TITLE = 60
_MINUTE, _DAY = 60, 86_400
_TWO_DAYS = 2 * _DAY


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
    return BECAME[question.answer_type] if question.answer_type else tr("No outcome")


def ended(asked: Interaction) -> str:
    """Return the label of a recorded question's result."""
    if asked.status in _STATUS_LABELS:
        return _STATUS_LABELS[asked.status]
    if asked.outcome is None:
        return tr("No outcome")
    note = refusal_note(asked.outcome)
    if note:
        return _refused(note)
    level = confidence_level(asked.outcome)
    return LEVELS[level] if level else BECAME[answer_type(asked.outcome)]


def _refused(note: str) -> str:
    return REFUSED.get(note, _LIMIT)


def place(channel: str, *, private: bool) -> str:
    """Return the place where a question was asked, from ``platform:channel``."""
    platform, _, name = channel.partition(":")
    called = PLATFORMS.get(platform, platform)
    if platform in {"web", "rest"} or not name:
        return called
    if private:
        return tr("{platform}, direct message", platform=called)
    return tr("{platform}, channel {name}", platform=called, name=name)


def who(name: str, person_id: str) -> str:
    """Return a person's name, or a short form of their id where the platform gives none.

    Browsers without a sign-in are distinguished by the beginning of their id.
    """
    return name or short_user_name(person_id)


def asker(case: Case) -> str:
    """Return the asker's name, with a mark if they are not a colleague."""
    return join_texts("", (who(case.asker_name, case.asker_id), case.asker_mark))


def judged(reason: str | None) -> str:
    """Return the label of a feedback reason; an unknown one of an older version as it is."""
    if reason is None:
        return ""
    return JUDGED[reason] if reason in get_args(Reason) else reason  # type: ignore[index]  # just looked up


def page_title(question: str) -> str:
    """Return the title of a page about a question."""
    return clip(question, _MAX_TITLE)


def one_line(text: str) -> str:
    """Return a text on one line, cut for a list."""
    return clip(question_text(text), _MAX_LINE) or tr("(no text)")


def age(span: timedelta) -> str:
    """Return a duration up to now; negative ones (a clock that is behind) count as zero."""
    seconds = max(0.0, span.total_seconds())
    return tr("less than a minute") if seconds < _MINUTE else duration(seconds)


def ago(span: timedelta) -> str:
    """Return how long ago something was."""
    seconds = max(0.0, span.total_seconds())
    if seconds < _MINUTE:
        return tr("less than a minute ago")
    if seconds < _TWO_DAYS:
        return tr("{time} ago", time=duration(seconds))
    return trn("{n} day ago", "{n} days ago", round(seconds / _DAY))


def moment(at: datetime) -> str:
    """Return a time in UTC, for browsers that do not convert it to local time."""
    return utc_moment(at)


def sure(confidence: float | None) -> str:
    """Return a confidence in percent; empty for None."""
    return "" if confidence is None else f"{confidence:.0%}"


SOURCES: Mapping[str, str] = {
    "upload": tr("Uploaded documents"),
    "answer": tr("Answers by colleagues"),
    "folder": tr("Folder of files"),
    "confluence": "Confluence",
}
_STARTERS: Mapping[str, str] = {
    "schedule": tr("scheduled"),
    "start": tr("after an interruption"),
}
_RUN_LABELS: Mapping[str, str] = {
    "failed": tr("Stopped by a problem"),
    "cancelled": tr("Cancelled; pages already indexed are kept"),
    "interrupted": tr("Interrupted; continues at the next start"),
}


def source(kind: str) -> str:
    """Return the label of a space's source."""
    return SOURCES.get(kind, kind or tr("Unknown"))


def over(run: Run) -> str:
    """Return the label of a run's scope."""
    named = command_texts.run_scope(run)
    # Space names keep their capitalisation.
    return named if named == run.space else changed(named, _capitalised)


def _capitalised(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def began(run: Run, names: Mapping[str, str], *, named: bool) -> str:
    """Return what started a run; people only if ``named``, by their name in ``names`` if known."""
    if run.by in _STARTERS:
        return _STARTERS[run.by]
    return tr("by {who}", who=short_actor_name(run.by, names)) if named else ""


def upcoming(each: Next | None, now: datetime) -> str:
    """Return the next scheduled run in words, "" for None."""
    if each is None:
        return ""
    seconds = (each.at - now).total_seconds()
    when = tr("in {time}", time=rough_duration(seconds)) if seconds > 0 else tr("now")
    match each.extent:
        case "changes":
            return tr("next check for changes {when}", when=when)
        case "page":
            return tr("next check of one page {when}", when=when)
        case _:
            return tr("next full check {when}", when=when)


def standing(run: Run) -> str:
    """Return a run's progress or result in words."""
    match run.state:
        case "waiting":
            return tr("Queued")
        case "running":
            return _progress(run)
        case "done":
            return _report(run)
        case _:
            return _RUN_LABELS[run.state]


def _progress(run: Run) -> str:
    if not run.total:
        told: str = tr("Looking for changes \u2026")
    else:
        status = run_status_of(run.id, (run,))
        told = pace(status)
        if status.remaining:
            told = tr("{progress}, {time} left", progress=told, time=status.remaining)
    place = run.at_space if run.space is None else ""
    return join_texts(": ", (place, told)) if place else told


def _report(run: Run) -> str:
    found = [*change_counts(run_status_of(run.id, (run,)))]
    if run.failed:
        found.append(trn("{n} could not be read", "{n} could not be read", run.failed))
    if not found:
        pages = trn("{n} page", "{n} pages", run.unchanged)
        return tr("Nothing to do: {pages} up to date", pages=pages)
    listed = join_texts(", ", found)
    if run.dry_run:
        return tr("A real run would find: {changes}", changes=listed)
    return tr("Done: {changes}", changes=listed)

"""Texts of greetings, help by the caller's role, and the status report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot import __version__
from bot.chat.commands.types import CommandSyntax
from bot.domain.health import ComponentStatus
from bot.domain.text.formatting import counted, rough_duration
from ingestion.library import Space

HELLO = (
    "Hello! Mention me with a question, and I answer in its thread from the company's pages, with "
    "the sources. If I am not sure, I say so."
)

CHAT_HELLO = (
    "Hello! Mention me with a question, and I answer here from the company's pages, with the "
    "sources. If I am not sure, I say so."
)
"""For a chat of several people without threads."""

PERSONAL_HELLO = (
    "Hello! Write me a question, such as how to reset a password, and I answer from the company's "
    "pages that you may read, with the sources. If I am not sure, I say so, and you can ask a "
    "person."
)


@dataclass(frozen=True, slots=True)
class SuggestedPrompt:
    """A suggested question: its label, and the message it sends."""

    title: str
    message: str


SUGGESTED_PROMPTS = (
    SuggestedPrompt("What can you help with?", "What can you help me with?"),
    SuggestedPrompt("Reset a password", "How do I reset my password?"),
    SuggestedPrompt("Ask a person", "human"),
)


_WHAT = (
    "I answer questions from the company's pages, with the sources to look at. Where I am not "
    "sure, a person can be asked."
)
_WHY = "why your newest question here got the answer it got, or none"


def help_text(spelling: CommandSyntax, *, admin: bool) -> str:
    """Return the help text as lines, with admin commands only for admins."""
    command, reindexing = spelling.command, spelling.reindexing
    lines = [
        _WHAT,
        f"{command}help: this list",
        f"{command}status: what I answer from, and how fresh it is",
    ]
    if command:
        lines[1:1] = [
            f"{command}ask QUESTION: only you see the answer",
            f"{command}why: {_WHY}",
        ]
    else:
        lines.append(f"/why: {_WHY}")
    if admin:
        lines += [
            f"{command}settings: what this channel allows",
            f"{reindexing('SPACE')}: bring a space up to date; or one page by its address, or all",
            f"{reindexing('SPACE', '--dry-run')}: only say what would change",
            f"{reindexing('status')}: how far the runs are",
            f"{reindexing('cancel')}: stop a run; what it has written stays",
        ]
    return "\n".join(lines)


_KNOWLEDGE, _MODEL, _LIMITS = "knowledge", "model", "limits"
_MOST_SPACES = 15
_DAY = 86_400
_HOURS = 48 * 3600
"""Ages up to this many seconds are given in hours."""

_SIGNS = {"ready": "ready", "absent": "not set up", "limited": "limited", "paused": "paused"}


def status_text(
    parts: Sequence[ComponentStatus], spaces: Sequence[Space], now: datetime, *, admin: bool
) -> str:
    """Return the status report as lines. ``spaces`` are those that its readers may see.

    Only admins see the components by name with their problems, which may contain paths and
    settings.
    """
    lines = [*_summary(parts), *_spaces(spaces, now)]
    if admin:
        lines += ["", "Parts:", *(_part(part) for part in parts)]
    return "\n".join([*lines, f"Frontdesk {__version__}"])


def age_text(since: datetime, now: datetime) -> str:
    """Return how long ago a moment was."""
    seconds = max(0.0, (now - since).total_seconds())
    if seconds <= _HOURS:
        return f"{rough_duration(seconds)} ago"
    return f"{counted(round(seconds / _DAY), 'day')} ago"


def _summary(parts: Sequence[ComponentStatus]) -> Iterator[str]:
    states = {part.name: part.state for part in parts}
    if states.get(_LIMITS) == "paused":
        yield "I am paused: nobody is answered for now."
    elif states.get(_LIMITS) == "limited":
        yield "A limit is used up: fewer questions are answered for now."
    elif states.get(_KNOWLEDGE) == "failed":
        yield "I can't read my pages right now, so questions about the company go unanswered."
    else:
        yield "I am ready."
    if any(part.state == "failed" and part.name != _KNOWLEDGE for part in parts):
        yield "Something does not work as it should right now; whoever runs me can see what."
    if states.get(_MODEL) == "absent":
        yield "I answer in the pages' own words."


def _spaces(spaces: Sequence[Space], now: datetime) -> Iterator[str]:
    if not spaces:
        yield "I have no pages to answer from yet."
        return
    pages = sum(each.pages for each in spaces)
    yield f"I answer from {counted(pages, 'page')} in {counted(len(spaces), 'space')}:"
    for each in spaces[:_MOST_SPACES]:
        fresh = (
            ""
            if each.synced_at is None
            else f", brought up to date {age_text(each.synced_at, now)}"
        )
        yield f"- {each.name}: {counted(each.pages, 'page')}{fresh}"
    if len(spaces) > _MOST_SPACES:
        yield f"- and {len(spaces) - _MOST_SPACES} more"


def _part(part: ComponentStatus) -> str:
    state = _SIGNS.get(part.state, part.state)
    cure = f" {part.cure}" if part.cure and part.state != "ready" else ""
    return f"- {part.name} ({state}): {part.detail}{cure}"

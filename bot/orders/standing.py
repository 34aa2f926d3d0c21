"""How Frontdesk is, for whoever asks: what is ready, what is indexed, since when; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from bot import __version__
from bot.documents.documents import Space
from bot.rendering.amounts import about, counted
from bot.startup import Part

_KNOWLEDGE, _MODEL, _LIMITS = "knowledge", "model", "limits"
_MOST_SPACES = 15
_DAY = 86_400
_HOURS = 48 * 3600
"""Up to so many seconds an age is told in hours."""

_SIGNS = {"ready": "ready", "absent": "not set up", "limited": "limited", "paused": "paused"}


def status_text(
    parts: Sequence[Part], spaces: Sequence[Space], now: datetime, *, admin: bool
) -> str:
    """Return it as lines. ``spaces`` are those that whoever reads this may know of.

    Only admins see the parts by name, with what is wrong; paths and settings are nobody else's.
    """
    lines = [*_summary(parts), *_spaces(spaces, now)]
    if admin:
        lines += ["", "Parts:", *(_part(part) for part in parts)]
    return "\n".join([*lines, f"Frontdesk {__version__}"])


def age(since: datetime, now: datetime) -> str:
    """Return how long ago something was."""
    seconds = max(0.0, (now - since).total_seconds())
    if seconds <= _HOURS:
        return f"{about(seconds)} ago"
    return f"{counted(round(seconds / _DAY), 'day')} ago"


def _summary(parts: Sequence[Part]) -> Iterator[str]:
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
        fresh = "" if each.synced_at is None else f", brought up to date {age(each.synced_at, now)}"
        yield f"- {each.name}: {counted(each.pages, 'page')}{fresh}"
    if len(spaces) > _MOST_SPACES:
        yield f"- and {len(spaces) - _MOST_SPACES} more"


def _part(part: Part) -> str:
    state = _SIGNS.get(part.state, part.state)
    cure = f" {part.cure}" if part.cure and part.state != "ready" else ""
    return f"- {part.name} ({state}): {part.detail}{cure}"

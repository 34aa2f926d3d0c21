"""The list of what one asked before: lines, days, and what is said of a search; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from bot.adapters.web.days import Day, Entry, by_day
from bot.domain.record_search import FoundQuestion, ThreadSummary
from bot.domain.text.markdown import clip

LISTED = 30
"""Lines a page."""

_TITLE = 90
_BEFORE_A_WORD = 30


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list is asked for: words to find, the conversation that is open, where to go on.

    ``after`` is the id of the last line of the page before, and ``seen`` its moment.
    """

    query: str = ""
    open: str = ""
    after: str | None = None
    seen: datetime | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list; ``more`` is the address of the next one, empty at the end.

    ``told`` says how many questions were found, empty without a search.
    """

    asked: Asked
    days: tuple[Day, ...]
    more: str
    told: str


def listing_of(
    found: Sequence[ThreadSummary] | Sequence[FoundQuestion], asked: Asked, now: datetime
) -> Listing:
    """Return a page of what was found; it is one line longer than a page when there is more."""
    entries = [_entry(each, asked) for each in found[:LISTED]]
    more = len(found) > LISTED
    return Listing(
        asked=asked,
        days=by_day(entries, now, after=asked.seen),
        more=_next(asked, found[LISTED - 1].id, entries[-1].at) if more else "",
        told=_told(len(found), more=more) if asked.query and asked.after is None else "",
    )


def _entry(found: ThreadSummary | FoundQuestion, asked: Asked) -> Entry:
    if isinstance(found, FoundQuestion):
        href = f"/c/{found.thread}#x-{found.id}"
        return Entry(href, _around(found.question, asked.query), found.asked_at)
    here = found.id == asked.open
    title = clip(found.question, _TITLE) or "\u2026"
    delete = f"/conversations/{found.id}/delete" if here else ""
    return Entry(f"/c/{found.id}", title, found.last_at, here=here, delete=delete)


def _around(question: str, query: str) -> str:
    """Return the beginning of a question, or of where it has the first of the words."""
    text = " ".join(question.split())
    found = re.search(re.escape(query.split(maxsplit=1)[0]), text, re.IGNORECASE)
    if found is None or found.end() < _TITLE:
        return clip(text, _TITLE)
    return f"\u2026{clip(text[found.start() - _BEFORE_A_WORD :], _TITLE - 1)}"


def _next(asked: Asked, last: str, seen: datetime) -> str:
    query = {"q": asked.query} if asked.query else {}
    return "/history?" + urlencode(
        {**query, "open": asked.open, "after": last, "seen": seen.isoformat()}
    )


def _told(count: int, *, more: bool) -> str:
    if more:
        return f"More than {LISTED} questions found, newest first"
    return f"{count or 'No'} question{'' if count == 1 else 's'} found"

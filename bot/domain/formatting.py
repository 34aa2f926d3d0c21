"""Format durations, lists of names and the age of pages as texts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from bot.domain.interactions import Source
from bot.domain.markdown import clip
from bot.domain.messages import FoundPassage
from bot.domain.texts import Text, join_texts, number_text, tr, trn
from bot.domain.texts.dates import long_date
from rag.types import ANSWER_SOURCE, Chunk

_MINUTE = 60
_HOUR = 60
_HOURS_FROM = 120
"""From this number of minutes on, a duration is given in hours."""


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun in English, for logs and commands: "1 page", "1,000 pages"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def rough_duration(seconds: float) -> Text:
    """Return a rough duration in minutes, then hours."""
    minutes = round(seconds / _MINUTE)
    if minutes < 1:
        return tr("less than a minute")
    if minutes < _HOURS_FROM:
        return tr("about {minutes} min", minutes=minutes)
    return tr("about {hours} h", hours=number_text(f"{minutes / _MINUTE:.1f}"))


def ago_text(at: datetime, now: datetime) -> Text:
    """Return how long ago something of the same day was, rounded down, such as "2 hours ago"."""
    minutes = int((now - at).total_seconds()) // _MINUTE
    if minutes < 1:
        return tr("less than a minute ago")
    if minutes < _HOUR:
        return trn("{n} minute ago", "{n} minutes ago", minutes)
    return trn("{n} hour ago", "{n} hours ago", minutes // _HOUR)


def join_names(names: Sequence[str], most: int) -> Text:
    """Return at most ``most`` names joined by commas, and the number of the others."""
    more, listed = len(names) - most, join_texts(", ", names[:most])
    return tr("{names} and {more} more", names=listed, more=more) if more > 0 else listed


_YEARS_FROM, _MONTHS_FROM, _WEEKS_FROM = 2 * 365, 60, 14
"""Days from which on a unit is used: "13 days" is clearer than "1 week"."""

_YEAR, _MONTH, _WEEK = 365, 30, 7
_A_COLLEAGUE = tr("a colleague")
_NAME_LENGTH = 60
_TITLE_LENGTH = 100
_LABEL_LENGTH = 40
WARNING_SIGN = "\u26a0\ufe0f"
"""Precedes a warning within other text."""


class Dated(Protocol):
    """A page with its last change; the fields are those of bot.domain.interactions.Source."""

    @property
    def updated_at(self) -> datetime | None: ...
    @property
    def updated_by(self) -> str: ...
    @property
    def superseded(self) -> str: ...
    @property
    def source_type(self) -> str: ...


def updated_text(at: datetime | None, now: datetime, by: str = "") -> str:
    """Return "updated 3 months ago by Ana Silva", rounded down; "" if the time is unknown.

    A future time, as another machine's clock may give, counts as today. ``by`` may be "".
    """
    if at is None:
        return ""
    ago = _ago((now - at).days)
    if not by.strip():
        return tr("updated {ago}", ago=ago)
    return tr("updated {ago} by {who}", ago=ago, who=clip(by, _NAME_LENGTH))


def superseded_text(label: str) -> str:
    """Return the mark of a superseded page; "" without a label."""
    return tr("marked as {label}", label=clip(label, _LABEL_LENGTH)) if label else ""


def freshness(page: Dated, now: datetime) -> str:
    """Return time and author of a page's last change, and whether it is superseded."""
    parts = (changed_text(page, now), superseded_text(page.superseded))
    return join_texts(", ", (part for part in parts if part))


def changed_text(page: Dated, now: datetime) -> str:
    """Return who answered when for a person's answer; for a page when it changed, and by whom."""
    if page.source_type != ANSWER_SOURCE:
        return updated_text(page.updated_at, now, page.updated_by)
    return answered_text(page.updated_by, page.updated_at)


def answered_text(by: str, at: datetime | None) -> str:
    """Return "answered by IT on 3 March 2026"."""
    who = clip(by, _NAME_LENGTH) or _A_COLLEAGUE
    if at is None:
        return tr("answered by {who}", who=who)
    return tr("answered by {who} on {date}", who=who, date=long_date(at))


def superseded_warnings(pages: Sequence[Source]) -> tuple[str, ...]:
    """Return a warning for each superseded page among an answer's sources."""
    old = {page.page_id: page for page in pages if page.superseded}
    return tuple(_warning(page) for page in old.values())


def _warning(page: Source) -> str:
    title = clip(page.title.strip() or page.page_id, _TITLE_LENGTH)
    return tr(
        "The page \u201c{title}\u201d is {note}, so it may be out of date.",
        title=title,
        note=superseded_text(page.superseded),
    )


def _ago(days: int) -> Text:
    if days <= 1:
        return tr("yesterday") if days == 1 else tr("today")
    if days >= _YEARS_FROM:
        return trn("{n} year ago", "{n} years ago", days // _YEAR)
    if days >= _MONTHS_FROM:
        return trn("{n} month ago", "{n} months ago", days // _MONTH)
    if days >= _WEEKS_FROM:
        return trn("{n} week ago", "{n} weeks ago", days // _WEEK)
    return trn("{n} day ago", "{n} days ago", days)


def option_label(passage: Chunk | FoundPassage) -> str:
    """Return a passage's label as an option: "Title: Section", or the title alone."""
    if passage.section and passage.section != passage.title:
        return f"{passage.title}: {passage.section}"
    return passage.title

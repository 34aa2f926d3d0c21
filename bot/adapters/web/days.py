"""What was asked, in the days of the one who looks; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import groupby
from typing import Literal

DayName = Literal["Today", "Yesterday", "Earlier"]

_FARTHEST_MINUTES = 14 * 60


@dataclass(frozen=True, slots=True)
class Entry:
    """A conversation, or a question that was found, as one line of the list.

    ``when`` is a time of day, or a date for what is earlier; ``here`` marks the open one.
    """

    href: str
    title: str
    at: datetime
    when: str = ""
    here: bool = False
    delete: str = ""


@dataclass(frozen=True, slots=True)
class Day:
    """The entries of a day; it goes on from an earlier page where ``begins`` is False."""

    name: DayName
    entries: tuple[Entry, ...]
    begins: bool = True


def zone_of(minutes_east: str | None) -> timezone:
    """Return the zone that a browser told, in minutes east of Greenwich; else that of UTC."""
    try:
        minutes = int(minutes_east or 0)
    except ValueError:
        minutes = 0
    within = minutes if abs(minutes) <= _FARTHEST_MINUTES else 0
    return timezone(timedelta(minutes=within))


def day_of(moment: datetime, now: datetime) -> DayName:
    """Return which day a moment is on, in the zone of ``now``; a clock ahead of ours is today's."""
    past = (now.date() - moment.astimezone(now.tzinfo).date()).days
    if past <= 0:
        return "Today"
    return "Yesterday" if past == 1 else "Earlier"


def by_day(
    entries: Sequence[Entry], now: datetime, *, after: datetime | None = None
) -> tuple[Day, ...]:
    """Group entries, newest first, by day; ``after`` is the last moment of the page before."""
    seen = None if after is None else day_of(after, now)
    return tuple(
        Day(name, tuple(_dated(each, name, now) for each in group), begins=name != seen)
        for name, group in groupby(entries, key=lambda each: day_of(each.at, now))
    )


def _dated(entry: Entry, day: DayName, now: datetime) -> Entry:
    local = entry.at.astimezone(now.tzinfo)
    if day != "Earlier":
        when = f"{local:%H:%M}"
    elif local.year == now.year:
        when = f"{local.day} {local:%b}"
    else:
        when = f"{local.day} {local:%b %Y}"
    return Entry(entry.href, entry.title, local, when, entry.here, entry.delete)

"""Days and months by their names, in the reader's language."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Final

from bot.domain.texts import Text, number_text, tr, trn

_WEEKDAYS: Final[Sequence[Text]] = (
    tr("Monday"),
    tr("Tuesday"),
    tr("Wednesday"),
    tr("Thursday"),
    tr("Friday"),
    tr("Saturday"),
    tr("Sunday"),
)
_SHORT_WEEKDAYS: Final[Sequence[Text]] = (
    tr("Mon"),
    tr("Tue"),
    tr("Wed"),
    tr("Thu"),
    tr("Fri"),
    tr("Sat"),
    tr("Sun"),
)
_MONTHS: Final[Sequence[Text]] = (
    tr("January"),
    tr("February"),
    tr("March"),
    tr("April"),
    tr("May"),
    tr("June"),
    tr("July"),
    tr("August"),
    tr("September"),
    tr("October"),
    tr("November"),
    tr("December"),
)
# Three letters each, so that the axis of a chart is even: "May" is both.
_SHORT_MONTHS: Final[Sequence[Text]] = (
    tr("Jan"),
    tr("Feb"),
    tr("Mar"),
    tr("Apr"),
    tr("May"),
    tr("Jun"),
    tr("Jul"),
    tr("Aug"),
    tr("Sep"),
    tr("Oct"),
    tr("Nov"),
    tr("Dec"),
)


def weekday_and_day(day: date) -> Text:
    """Return a day for an axis of one week: ``Mon 3``."""
    return tr("{weekday} {day}", weekday=_SHORT_WEEKDAYS[day.weekday()], day=str(day.day))


def day_and_month(day: date) -> Text:
    """Return a day for an axis of months: ``3 Nov``."""
    return tr("{day} {month}", day=str(day.day), month=_SHORT_MONTHS[day.month - 1])


def short_day_of_year(day: date) -> Text:
    """Return a day of another year: ``3 Nov 2026``."""
    month = _SHORT_MONTHS[day.month - 1]
    return tr("{day} {month} {year}", day=str(day.day), month=month, year=str(day.year))


def short_date(day: date) -> Text:
    """Return a day of these weeks: ``Mon 3 Nov``."""
    weekday, month = _SHORT_WEEKDAYS[day.weekday()], _SHORT_MONTHS[day.month - 1]
    return tr("{weekday} {day} {month}", weekday=weekday, day=str(day.day), month=month)


def spoken_date(day: date) -> Text:
    """Return a day as it is said in a sentence: ``Monday, 3 November``."""
    weekday, month = _WEEKDAYS[day.weekday()], _MONTHS[day.month - 1]
    return tr("{weekday}, {day} {month}", weekday=weekday, day=str(day.day), month=month)


def spoken_moment(at: datetime) -> Text:
    """Return a time as it is said in a sentence: ``Monday, 3 November, 9:00``."""
    return tr("{date}, {time}", date=spoken_date(at), time=f"{at.hour}:{at:%M}")


def long_date(day: date) -> Text:
    """Return a day of any year: ``3 November 2026``."""
    month = _MONTHS[day.month - 1]
    return tr("{day} {month} {year}", day=str(day.day), month=month, year=str(day.year))


def utc_moment(at: datetime) -> Text:
    """Return a time in UTC: ``03 Nov 2026, 14:00 UTC``."""
    there = at.astimezone(UTC)
    return tr(
        "{day} {month} {year}, {time} UTC",
        day=f"{there:%d}",
        month=_SHORT_MONTHS[there.month - 1],
        year=str(there.year),
        time=f"{there:%H:%M}",
    )


_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_FEW_HOURS = 10
_TWO_DAYS = 48 * _HOUR


def duration(seconds: float) -> Text:
    """Return a duration in at most two units: ``0.8 s``, ``17 min``, ``2 h 5 min``, ``3 days``."""
    if seconds < 9.95:  # noqa: PLR2004 - one decimal below 10 s; 9.95 would round to 10.0
        return number_text(unbroken(f"{seconds:.1f} s"))
    if round(seconds) < _MINUTE:
        return number_text(unbroken(f"{round(seconds)} s"))
    minutes = round(seconds / _MINUTE)
    if minutes < _HOUR // _MINUTE:
        return number_text(unbroken(f"{minutes} min"))
    hours, rest = divmod(minutes, _HOUR // _MINUTE)
    if hours < _FEW_HOURS:
        return number_text(unbroken(f"{hours} h {rest} min" if rest else f"{hours} h"))
    if seconds < _TWO_DAYS:
        return number_text(unbroken(f"{round(seconds / _HOUR)} h"))
    return days_text(round(seconds / _DAY))


def days_text(days: int) -> Text:
    """Return a number of days."""
    return trn("{n} day", "{n} days", days)


def unbroken(text: str) -> str:
    """Replace spaces by no-break spaces, so that a figure and its unit stay on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")

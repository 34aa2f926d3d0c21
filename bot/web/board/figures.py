"""Format money and shares, and compute the geometry of charts.

No I/O. A template draws a chart as SVG, with its summary and its table beside it. Lengths are units
of the view box; y grows downwards, as in SVG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, floor, log10

from bot.domain.texts import Text, join_texts, number_text, tr, trn
from bot.domain.texts.dates import (
    day_and_month,
    short_date,
    unbroken,
    weekday_and_day,
)

_CENT = 0.01
_TOO_FEW_TO_COMPARE = 5
"""Below this earlier count, a change in percent is not meaningful."""


def usd(amount: float) -> Text:
    """Return an amount of US dollars; below a cent with four decimals."""
    return number_text(
        unbroken(f"{amount:.4f} USD" if 0 < amount < _CENT else f"{amount:,.2f} USD")
    )


def percent(share: float | None) -> str:
    """Return a share of 1 in percent; a dash for None."""
    return "\N{EN DASH}" if share is None else unbroken(f"{100 * share:.0f} %")


def count(number: float) -> Text:
    """Return a number with thousands separators."""
    return number_text(f"{number:,.0f}")


def compared(now: float, then: float) -> Text:
    """Return the difference from an earlier count; in percent if that one is large enough."""
    if count(now) == count(then):
        return tr("the same")
    number = round(abs(now - then))
    if now > then:
        words = trn("{n} more", "{n} more", number)
    else:
        words = trn("{n} fewer", "{n} fewer", number)
    if then < _TOO_FEW_TO_COMPARE:
        return words
    sign = "+" if now > then else "\N{MINUS SIGN}"
    share = f"{sign}{percent(abs(now - then) / then)}"
    return tr("{difference} ({share})", difference=words, share=share)


WIDTH, HEIGHT = 340, 150
LEFT, RIGHT, TOP, BOTTOM = 34, 336, 8, 130
_STEPS = 3
"""The maximum number of grid lines above the lowest."""

_LAST_NAME = RIGHT - 18
"""The rightmost x of a label: labels are centred, and must not be cut off."""

_EVERY_DAY = 7
"""Up to this many days, each bar has its label."""

_WIDE_GAP, _NARROW_GAP = 0.25, 0.1
"""The gap between two bars, as a share of a day's width; narrow beyond a month."""

_MONTH = 31
_DAY = tr("Day")


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one figure by day. ``tone`` is its colour, a class of charts.css."""

    name: str
    tone: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """The bars of one series, as an SVG path."""

    tone: str
    path: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A grid line or an axis label; ``at`` is its y or its x."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Spot:
    """The hover area of one day; ``text`` is its tooltip with the figures."""

    x: float
    width: float
    text: str


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of the legend."""

    name: str
    tone: str
    total: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, ready to be drawn; ``summary`` describes it in a sentence."""

    title: str
    summary: str
    shapes: tuple[Shape, ...]
    grid: tuple[Tick, ...]
    names: tuple[Tick, ...]
    spots: tuple[Spot, ...]
    keys: tuple[Key, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def stacked(
    title: str,
    summary: str,
    days: Sequence[date],
    series: Sequence[Series],
    *,
    write: Callable[[float], str] = count,
    mark: Callable[[float], str] | None = None,
    head: str = _DAY,
) -> Chart:
    """Return a stacked bar chart by day, the first series lowest.

    Each series must have a value for each day; none is negative. ``mark`` formats a figure for the
    axis, where space is short; without it ``write`` does. ``head`` names the first column.
    """
    totals = [sum(each.values[n] for each in series) for n in range(len(days))]
    grid = scale(max(totals, default=0))
    highest = grid[-1]
    return Chart(
        title=title,
        summary=summary,
        shapes=_shapes(series, len(days), highest),
        grid=tuple(Tick(_y(each, highest), (mark or write)(each)) for each in grid),
        names=_names(days),
        spots=_spots(days, series, write),
        keys=tuple(Key(each.name, each.tone, write(sum(each.values))) for each in series),
        head=(head, *(each.name for each in series)),
        rows=tuple(_row(day, n, series, write) for n, day in enumerate(days)),
    )


def scale(highest: float) -> tuple[float, ...]:
    """Return round, evenly spaced axis values from 0 to at least the highest value."""
    if highest <= 0:
        return (0.0, 1.0)
    rough = highest / _STEPS
    power = 10.0 ** floor(log10(rough))
    # The factor, like the 0.001 below, absorbs rounding errors of floats.
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough * 0.999)
    if highest >= 1:
        step = max(step, 1.0)
    return tuple(step * n for n in range(ceil(highest / step - 0.001) + 1))


def _shapes(series: Sequence[Series], days: int, highest: float) -> tuple[Shape, ...]:
    below = [0.0] * days
    shapes = []
    for each in series:
        bars = "".join(
            _bar(n, days, _y(below[n], highest), _y(below[n] + value, highest))
            for n, value in enumerate(each.values)
            if value > 0
        )
        shapes.append(Shape(each.tone, bars))
        below = [low + value for low, value in zip(below, each.values, strict=True)]
    return tuple(shapes)


def _bar(place: int, days: int, low: float, high: float) -> str:
    room = (RIGHT - LEFT) / days
    gap = _WIDE_GAP if days <= _MONTH else _NARROW_GAP
    x, width = LEFT + room * (place + gap / 2), room * (1 - gap)
    return f"M{_n(x)} {_n(low)}v{_n(high - low)}h{_n(width)}v{_n(low - high)}z"


def _y(value: float, highest: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * value / highest, 1)


def _names(days: Sequence[date]) -> tuple[Tick, ...]:
    room = (RIGHT - LEFT) / max(len(days), 1)
    every = 1 if len(days) <= _EVERY_DAY else ceil(len(days) / 4)
    return tuple(
        Tick(round(min(LEFT + room * (n + 0.5), _LAST_NAME), 1), _short(day, len(days)))
        for n, day in enumerate(days)
        if (len(days) - 1 - n) % every == 0
    )


def _short(day: date, days: int) -> str:
    return weekday_and_day(day) if days <= _EVERY_DAY else day_and_month(day)


def _spots(
    days: Sequence[date], series: Sequence[Series], write: Callable[[float], str]
) -> tuple[Spot, ...]:
    room = (RIGHT - LEFT) / max(len(days), 1)
    return tuple(
        Spot(round(LEFT + room * n, 1), round(room, 1), _tooltip(day, n, series, write))
        for n, day in enumerate(days)
    )


def _tooltip(day: date, place: int, series: Sequence[Series], write: Callable[[float], str]) -> str:
    said = [
        join_texts(" ", (each.name, write(each.values[place])))
        for each in series
        if each.values[place]
    ]
    figures = join_texts(", ", said) if said else tr("nothing")
    return join_texts(": ", (short_date(day), figures))


def _row(
    day: date, place: int, series: Sequence[Series], write: Callable[[float], str]
) -> tuple[str, ...]:
    return (day.isoformat(), *(write(each.values[place]) for each in series))


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")

"""Figures as people read them: durations, money and shares in words, and charts as geometry.

Pure. A template draws a chart as SVG, with its words and its table beside it. Lengths are units
of the view box; y grows downwards, as in SVG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, floor, log10

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_FEW_HOURS = 10
_TWO_DAYS = 48 * _HOUR
_CENT = 0.01
_TOO_FEW_TO_COMPARE = 5
"""Below so many before, a change in percent says more than is known."""


def duration(seconds: float) -> str:
    """Return a duration in at most two units: ``0.8 s``, ``17 min``, ``2 h 5 min``, ``3 days``."""
    if seconds < 9.95:  # noqa: PLR2004 - below ten a tenth is told
        return _unbroken(f"{seconds:.1f} s")
    if round(seconds) < _MINUTE:
        return _unbroken(f"{round(seconds)} s")
    minutes = round(seconds / _MINUTE)
    if minutes < _HOUR // _MINUTE:
        return _unbroken(f"{minutes} min")
    hours, rest = divmod(minutes, _HOUR // _MINUTE)
    if hours < _FEW_HOURS:
        return _unbroken(f"{hours} h {rest} min" if rest else f"{hours} h")
    return _unbroken(f"{round(seconds / _HOUR)} h" if seconds < _TWO_DAYS else _days(seconds))


def _days(seconds: float) -> str:
    return f"{round(seconds / _DAY)} days"


def usd(amount: float) -> str:
    """Return an amount of US dollars; below a cent with what is needed to see it."""
    return _unbroken(f"{amount:.4f} USD" if 0 < amount < _CENT else f"{amount:,.2f} USD")


def percent(share: float | None) -> str:
    """Return a share of 1 in percent; a dash where there is none."""
    return "\N{EN DASH}" if share is None else _unbroken(f"{100 * share:.0f} %")


def count(number: float) -> str:
    """Return a number with its thousands apart."""
    return f"{number:,.0f}"


def plural(number: int, one: str, more: str = "") -> str:
    """Return a number with its word: ``1 question``, ``2 questions``."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def compared(
    now: float,
    then: float,
    write: Callable[[float], str] = count,
    *,
    more: str = "more",
    less: str = "fewer",
) -> str:
    """Say how a figure differs from an earlier one; in percent where that means something."""
    if write(now) == write(then):
        return "the same"
    words = f"{write(abs(now - then))} {more if now > then else less}"
    if then < _TOO_FEW_TO_COMPARE:
        return words
    sign = "+" if now > then else "\N{MINUS SIGN}"
    return f"{words} ({sign}{percent(abs(now - then) / then)})"


def _unbroken(text: str) -> str:
    """Keep a figure and its unit on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


WIDTH, HEIGHT = 340, 150
LEFT, RIGHT, TOP, BOTTOM = 34, 336, 8, 130
_STEPS = 3
"""Lines of the grid above the lowest, at most."""

_LAST_NAME = RIGHT - 14
"""A name is centred, and must not be cut off."""

_EVERY_DAY = 7
"""Up to so many days each is named below its bar."""

_WIDE_GAP, _NARROW_GAP = 0.25, 0.1
"""Of a day's place, between two bars; narrow beyond a month."""

_MONTH = 31


@dataclass(frozen=True, slots=True)
class Series:
    """One figure by day. ``tone`` is its colour, a class of charts.css."""

    name: str
    tone: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """The bars of one series, as the path that draws them."""

    tone: str
    path: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the grid, or a name below; ``at`` is its y or its x."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Spot:
    """The place of one day, which says its figures to who points at it."""

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
    """A chart, ready to be drawn; ``summary`` says in words what it shows."""

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
    write: Callable[[float], str] = "{:,.0f}".format,
    mark: Callable[[float], str] | None = None,
) -> Chart:
    """Return bars by day, the series on top of each other, the first one lowest.

    Each series must have a value for each day; none is negative. ``mark`` writes a figure short
    enough for the axis; without it ``write`` does.
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
        head=("Day", *(each.name for each in series)),
        rows=tuple(_row(day, n, series, write) for n, day in enumerate(days)),
    )


def scale(highest: float) -> tuple[float, ...]:
    """Return round steps from 0 to at or above the highest value."""
    if highest <= 0:
        return (0.0, 1.0)
    rough = highest / _STEPS
    power = 10.0 ** floor(log10(rough))
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


def _bar(place: int, of: int, low: float, high: float) -> str:
    room = (RIGHT - LEFT) / of
    gap = _WIDE_GAP if of <= _MONTH else _NARROW_GAP
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


def _short(day: date, of: int) -> str:
    return f"{day:%a} {day.day}" if of <= _EVERY_DAY else f"{day.day} {day:%b}"


def _spots(
    days: Sequence[date], series: Sequence[Series], write: Callable[[float], str]
) -> tuple[Spot, ...]:
    room = (RIGHT - LEFT) / max(len(days), 1)
    return tuple(
        Spot(round(LEFT + room * n, 1), round(room, 1), _told(day, n, series, write))
        for n, day in enumerate(days)
    )


def _told(day: date, place: int, series: Sequence[Series], write: Callable[[float], str]) -> str:
    said = [f"{each.name} {write(each.values[place])}" for each in series if each.values[place]]
    return f"{day:%a} {day.day} {day:%b}: {', '.join(said) or 'nothing'}"


def _row(
    day: date, place: int, series: Sequence[Series], write: Callable[[float], str]
) -> tuple[str, ...]:
    return (day.isoformat(), *(write(each.values[place]) for each in series))


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")

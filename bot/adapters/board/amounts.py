"""Figures as people read them: durations, money, shares and changes in words; pure."""

from __future__ import annotations

from collections.abc import Callable

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_FEW_HOURS = 10
_TWO_DAYS = 48 * _HOUR
_CENT = 0.01
_FEW = 5
"""Below so many before, a change in percent says more than is known."""


def duration(seconds: float) -> str:
    """Return a duration in at most two units: ``0.8 s``, ``17 min``, ``2 h 5 min``, ``3 days``."""
    if seconds < 9.95:  # noqa: PLR2004 - below ten a tenth is told
        return _whole(f"{seconds:.1f} s")
    if round(seconds) < _MINUTE:
        return _whole(f"{round(seconds)} s")
    minutes = round(seconds / _MINUTE)
    if minutes < _HOUR // _MINUTE:
        return _whole(f"{minutes} min")
    hours, rest = divmod(minutes, _HOUR // _MINUTE)
    if hours < _FEW_HOURS:
        return _whole(f"{hours} h {rest} min" if rest else f"{hours} h")
    return _whole(f"{round(seconds / _HOUR)} h" if seconds < _TWO_DAYS else _days(seconds))


def _days(seconds: float) -> str:
    return f"{round(seconds / _DAY)} days"


def usd(amount: float) -> str:
    """Return an amount of US dollars; below a cent with what is needed to see it."""
    return _whole(f"{amount:.4f} USD" if 0 < amount < _CENT else f"{amount:,.2f} USD")


def percent(share: float | None) -> str:
    """Return a share of 1 in percent; a dash where there is none."""
    return "\N{EN DASH}" if share is None else _whole(f"{100 * share:.0f} %")


def count(number: float) -> str:
    """Return a number with its thousands apart."""
    return f"{number:,.0f}"


def several(number: int, one: str, more: str = "") -> str:
    """Return a number with its word: ``1 question``, ``2 questions``."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def change(
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
    if then < _FEW:
        return words
    sign = "+" if now > then else "\N{MINUS SIGN}"
    return f"{words} ({sign}{percent(abs(now - then) / then)})"


def _whole(text: str) -> str:
    """Keep a figure and its unit on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")

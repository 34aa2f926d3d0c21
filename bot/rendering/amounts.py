"""Numbers, times to come and lists as a person says them: pure."""

from __future__ import annotations

from collections.abc import Sequence

_MINUTE = 60
_HOURS_FROM = 120
"""From so many minutes on hours are told."""


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, such as "1 page" or "1,000 pages"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def about(seconds: float) -> str:
    """Return roughly how long something takes, in minutes, then hours."""
    minutes = round(seconds / _MINUTE)
    if minutes < 1:
        return "less than a minute"
    if minutes < _HOURS_FROM:
        return f"about {minutes} min"
    return f"about {minutes / _MINUTE:.1f} h"


def listed(names: Sequence[str], most: int) -> str:
    """Return names with commas, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")

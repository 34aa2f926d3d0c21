"""How old a page is, as a person says it: pure."""

from __future__ import annotations

from datetime import datetime

_UNITS = ((365, "year"), (30, "month"), (7, "week"), (1, "day"))
_FROM = {"year": 2 * 365, "month": 60, "week": 14, "day": 2}
"""Days from which on a time is said in a unit: "13 days" is clearer than "1 week"."""


def updated(at: datetime | None, now: datetime) -> str:
    """Return "updated 3 months ago", rounded down; "" where nobody knows when.

    A time to come, which another machine's clock may give, is today.
    """
    if at is None:
        return ""
    days = (now - at).days
    if days <= 1:
        return "updated yesterday" if days == 1 else "updated today"
    length, name = next(unit for unit in _UNITS if days >= _FROM[unit[1]])
    return f"updated {days // length} {name}s ago"

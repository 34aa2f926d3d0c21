"""The span of days that a page of the board is about, as its address says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aiohttp import web

DAYS = (7, 30, 90)


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that can be chosen on a page, and where it leads."""

    name: str
    href: str
    chosen: bool


def days_of(request: web.Request) -> int:
    """Return how many days are asked for; anything but a choice of ours is the first."""
    asked = request.query.get("days", "")
    return next((days for days in DAYS if str(days) == asked), DAYS[0])


def choices(chosen: int, path: str, more: str = "") -> Sequence[Choice]:
    """Return the spans to choose from; ``more`` goes on in each address."""
    return [Choice(f"{days} days", f"{path}?days={days}{more}", days == chosen) for days in DAYS]


def now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)

"""How long a server asks to wait before it is asked again. Pure but for our clock."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def requested_wait_seconds(headers: Mapping[str, str]) -> float | None:
    """Return how long the server asks to wait (Retry-After-Ms, Retry-After), else None.

    A date counts from the server's own ``Date``, so that a clock of ours that is wrong does no
    harm. ``headers`` are those of a library, which take a name in any case.
    """
    milliseconds = _number(headers.get("Retry-After-Ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("Retry-After", "").strip()
    seconds = _number(said)
    return _until(said, headers) if seconds is None else seconds


def date_of(headers: Mapping[str, str]) -> datetime:
    """Return the server's own time as it answered; ours where it does not say."""
    return _date(headers.get("Date", "")) or datetime.now(UTC)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until(said: str, headers: Mapping[str, str]) -> float | None:
    date = _date(said)
    return None if date is None else max(0.0, (date - date_of(headers)).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)

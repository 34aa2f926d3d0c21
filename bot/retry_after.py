"""When a vendor says to ask again: the Retry-After header."""

from __future__ import annotations

import math

_LONGEST_SECONDS = 86_400.0


def retry_after_seconds(header: object) -> float | None:
    """Return the seconds that a Retry-After header asks for, 0 to one day; None when it has none.

    Only the form in seconds is read: no vendor here sends the form with a date.
    """
    try:
        seconds = float(header) if isinstance(header, str) else math.nan
    except ValueError:
        return None
    if math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), _LONGEST_SECONDS)

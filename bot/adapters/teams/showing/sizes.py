"""How much an activity holds, as Teams measures it: pure."""

from __future__ import annotations

import json
from collections.abc import Callable

BUDGET = 25_000
"""Bytes of a whole activity as UTF-16; Teams refuses more, and counts more than it says."""

ROOM = BUDGET - 5_000
"""Bytes for what we write; the rest is for addresses, which are added on the way out."""


def size(value: object) -> int:
    """Return the bytes of a value as JSON in UTF-16."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass"))


def most(count: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to ``count`` that fits, at least 1.

    What is larger than one that does not fit must not fit either. Few are tried, and none that is
    more than twice too large: what somebody wrote at length holds nobody up.
    """
    low, high = 1, 2
    while high <= count and fits(high):
        low, high = high, 2 * high
    high = min(high, count + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low

"""How much an activity holds, as Teams measures it: pure."""

from __future__ import annotations

import json

BUDGET = 25_000
"""Bytes of a whole activity as UTF-16; Teams refuses more, and counts more than it says."""

ROOM = BUDGET - 5_000
"""Bytes for what we write; the rest is for addresses, which are added on the way out."""


def size(value: object) -> int:
    """Return the bytes of a value as JSON in UTF-16."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass"))

"""Where a page of a list ended, as links and clients carry it: opaque, without padding. Pure."""

from __future__ import annotations

import base64
import json
from datetime import datetime

from bot.records.searching import Place

_LONGEST_NUMBER = 18
"""Digits that fit 63 bits."""


def written(place: Place) -> str:
    """Return a place as a link or a client carries it."""
    plain = json.dumps([place.at.isoformat(), *place.key])
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def read(given: str, *, parts: int, numbered: bool = False) -> Place | None:
    """Return the place that was written, None for what was not written here.

    Args:
        given: what ``written`` made.
        parts: of how many parts the key is.
        numbered: whether each part is a number.
    """
    try:
        at, *key = json.loads(base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)))
        place = Place(datetime.fromisoformat(at), tuple(key))
    except (ValueError, TypeError, RecursionError):
        return None
    fits = len(key) == parts and all(isinstance(part, str) for part in key)
    if not fits or place.at.tzinfo is None or (numbered and not all(map(_is_number, key))):
        return None
    return place


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= _LONGEST_NUMBER

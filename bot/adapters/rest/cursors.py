"""Where a page of a list ended, as clients carry it: opaque, without padding."""

from __future__ import annotations

import base64
import json
from datetime import datetime

from bot.adapters.rest.reading import invalid
from bot.records.searching import Place

_CURE = "Send the `next` of the page before, as it came."


def written(place: Place | None) -> str | None:
    """Return a cursor; None at the end of a list."""
    if place is None:
        return None
    text = json.dumps([place.at.isoformat(), *place.key])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def place_of(cursor: str | None, keys: int) -> Place | None:
    """Return the place that a cursor names. Raises Problem (422)."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        at, *key = json.loads(base64.urlsafe_b64decode(padded))
        moment = datetime.fromisoformat(at)
    except (ValueError, TypeError) as error:
        raise invalid("cursor", cursor, "is no place in a list", _CURE) from error
    whole = len(key) == keys and all(isinstance(each, str) for each in key)
    if moment.tzinfo is None or not whole:
        raise invalid("cursor", cursor, "is a place in another list", _CURE)
    return Place(moment, tuple(key))

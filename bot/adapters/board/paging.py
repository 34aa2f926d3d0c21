"""Pages of lists: where one ended, as a link can carry it; and links that keep the filters."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlencode

from bot.records.searching import Place

SIZE = 25
"""Entries a page."""


def written(place: Place | None) -> str:
    """Return a place as a link carries it, "" for none."""
    if place is None:
        return ""
    plain = json.dumps([place.at.isoformat(), *place.key])
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def read(given: str, *, parts: int, numbered: bool = False) -> Place | None:
    """Return the place that a link carries; what none of our links carries is the beginning.

    Args:
        given: what ``written`` made.
        parts: of how many parts the key is.
        numbered: whether each part is a number.
    """
    try:
        at, *key = json.loads(base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)))
        place = Place(datetime.fromisoformat(at), tuple(key))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        return None
    fits = len(key) == parts and all(isinstance(part, str) for part in key)
    if not fits or place.at.tzinfo is None or (numbered and not all(map(_is_number, key))):
        return None
    return place


def link(path: str, fields: Mapping[str, str], **changes: str) -> str:
    """Return the address of a list with its filters; empty ones are left out."""
    kept = {name: value for name, value in {**fields, **changes}.items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path


def further(path: str, fields: Mapping[str, str], place: Place | None) -> str:
    """Return the address of the next page of a list, "" where there is none."""
    return link(path, fields, after=written(place)) if place else ""


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 19  # noqa: PLR2004 - fits 63 bits

"""Links from page to page of a list, which keep the filters."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from bot.domain.record_search import Cursor, encode_cursor

SIZE = 25
"""Entries a page."""


def link(path: str, fields: Mapping[str, str], **changes: str) -> str:
    """Return the address of a list with its filters; empty ones are left out."""
    kept = {name: value for name, value in {**fields, **changes}.items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path


def further(path: str, fields: Mapping[str, str], place: Cursor | None) -> str:
    """Return the address of the next page of a list, "" where there is none."""
    return link(path, fields, after=encode_cursor(place)) if place else ""

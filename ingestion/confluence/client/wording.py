"""Ids, names and addresses as requests and people need them; pure."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

KEYS_AT_ONCE = 50


def web(base: str, webui: str) -> str:
    """Return the address people open; ``webui`` is relative to the site's base."""
    return f"{base.rstrip('/')}/{webui.lstrip('/')}"


def in_path(value: str) -> str:
    """Return an id or name as one segment of a path."""
    return quote(value, safe="")


def in_cql(value: str) -> str:
    """Return a text in quotes, as CQL wants it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def in_lots(keys: Sequence[str] | None) -> list[Sequence[str]]:
    """Return the keys in lots that an address has room for; one empty lot asks for all."""
    if keys is None:
        return [()]
    return [keys[at : at + KEYS_AT_ONCE] for at in range(0, len(keys), KEYS_AT_ONCE)]

"""The names of an index's versions: NAME-v1, NAME-v2, and so on behind NAME. Pure."""

from __future__ import annotations

import re

_VERSION = re.compile(r"^(?P<name>.+)-v(?P<number>[1-9]\d*)$")

FIRST = 1


def version_name(name: str, number: int) -> str:
    """Return the name of a version's own index."""
    return f"{name}-v{number}"


def version_number(name: str, index: str) -> int | None:
    """Return which version of ``name`` an index is, or None when it is none."""
    found = _VERSION.match(index)
    return int(found["number"]) if found and found["name"] == name else None


def next_name(name: str, index: str) -> str:
    """Return the name of the version after an index."""
    return version_name(name, (version_number(name, index) or 0) + 1)

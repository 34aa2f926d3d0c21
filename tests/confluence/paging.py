"""Lists in pieces: opaque cursors, ``start`` and ``limit``, and the links to the next piece."""

from __future__ import annotations

import base64
import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from tests.confluence.call import Call, Refusal

T = TypeVar("T")
Key = tuple[float, ...]


@dataclass(frozen=True)
class Piece(Generic[T]):
    """Some of a list, and the cursor behind which it goes on; None at its end."""

    items: Sequence[T]
    cursor: str | None
    start: int
    limit: int


def by_cursor(
    call: Call, items: Sequence[T], limit: int, key: Callable[[T], Key] | None = None
) -> Piece[T]:
    """Return the piece that the call's cursor asks for.

    With a ``key``, by which ``items`` are in order, the cursor stands behind the last one given,
    so that nothing shifts. Without one, or when the option ``shifting`` is on, it is a place in
    the list: what comes or goes before it makes one miss or repeat an entry.
    """
    given = _read(call.sent.get("cursor"))
    if key is None or call.options.get("shifting"):
        start = int(given[0]) if given else 0
        after: Key = (start + limit,)
    else:
        start = bisect_right(items, tuple(given), key=key) if given else 0
        after = key(items[min(start + limit, len(items)) - 1]) if items else ()
    more = start + limit < len(items)
    return Piece(items[start : start + limit], _written(after) if more else None, start, limit)


def by_start(call: Call, items: Sequence[T], limit: int) -> Piece[T]:
    """Return the piece from ``start`` on, as the older API has it."""
    given = call.sent.get("start", "0")
    if not given.isdecimal():
        raise Refusal(400, f"start must be a number, not {given!r}")
    start = int(given)
    more = start + limit < len(items)
    return Piece(items[start : start + limit], str(start + limit) if more else None, start, limit)


def query(call: Call, **changed: object) -> str:
    """Return the call's own parameters with some changed."""
    parameters = {**call.sent, **{name: str(value) for name, value in changed.items()}}
    return urlencode(parameters)


def _written(after: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps(after).encode()).decode()


def _read(cursor: str | None) -> list[Any]:
    if cursor is None:
        return []
    try:
        read = json.loads(base64.urlsafe_b64decode(cursor))
    except ValueError as error:
        raise Refusal(400, f"invalid cursor {cursor!r}") from error
    if not isinstance(read, list):
        raise Refusal(400, f"invalid cursor {cursor!r}")
    return read

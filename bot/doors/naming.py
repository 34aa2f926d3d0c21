"""Names for people who told none, short enough to read; the record keeps their whole id."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_VISITOR = "visitor-"
_SHOWN = 6
_BOARD = "board:"


def short_id(person_id: str) -> str:
    """Return an id; browsers without a sign-in are told apart by the beginning of theirs."""
    visitor = person_id.removeprefix(_VISITOR)
    return f"Visitor {visitor[:_SHOWN]}" if visitor != person_id else person_id


def short_actor(actor: str, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return who did an act as the audit has it, such as ``cli:anna``, short enough to read.

    ``names`` are those that are known, by id.
    """
    who = actor.removeprefix(_BOARD)
    return names.get(who) or short_id(who)

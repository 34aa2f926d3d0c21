"""Users who are signed in, their roles, and short names for users and actors to show.

The record keeps the whole id; only what is shown is shortened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from bot.domain.messages import Person

Role = Literal["asker", "expert", "admin"]
"""asker: asks, and sees what is theirs. expert: also answers what went to people, and sees the
record. admin: also changes what is indexed and set. Each includes the ones before."""

ROLES: tuple[Role, ...] = ("asker", "expert", "admin")


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Somebody who is let in, by which proof, and as what.

    ``person`` is None for whoever has the admin token: it says what one may do, not who one is.
    """

    by: Literal["token", "oidc", "demo"]
    role: Role
    person: Person | None = None


_VISITOR = "visitor-"
_SHOWN = 6
_BOARD = "board:"


def short_user_name(person_id: str) -> str:
    """Return an id; browsers without a sign-in are told apart by the beginning of theirs."""
    visitor = person_id.removeprefix(_VISITOR)
    return f"Visitor {visitor[:_SHOWN]}" if visitor != person_id else person_id


def short_actor_name(actor: str, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return who did an act as the audit has it, such as ``cli:anna``, short enough to read.

    ``names`` are those that are known, by id.
    """
    who = actor.removeprefix(_BOARD)
    return names.get(who) or short_user_name(who)

"""Signed-in users with their roles, and short display names of users and actors.

The record stores whole ids; they are shortened for display only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from bot.domain.messages import Person
from bot.domain.texts import tr

Role = Literal["asker", "expert", "admin"]
"""asker: asks, and sees their own questions. expert: also answers escalations and sees the record.
admin: also changes index and settings. Each role includes the ones before."""

ROLES: tuple[Role, ...] = ("asker", "expert", "admin")

ROLE_NAMES: Mapping[Role, str] = {
    "asker": tr("asker"),
    "expert": tr("expert"),
    "admin": tr("admin"),
}


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A signed-in user: by which proof, and in which role.

    ``person`` is None with the admin token, which proves a role and no identity.
    """

    by: Literal["token", "oidc", "demo"]
    role: Role
    person: Person | None = None

    @property
    def role_name(self) -> str:
        return ROLE_NAMES[self.role]


_VISITOR = "visitor-"
_SHOWN = 6
_BOARD = "board:"
_NAMELESS: Mapping[str, str] = {
    "web:admin token": tr("Admin token"),
    "web:unknown": tr("Unknown"),
}
"""Actors who prove no identity (bot.web.auth.credentials), for display."""


def short_user_name(person_id: str) -> str:
    """Return an id for display; of a visitor without sign-in, the first characters."""
    visitor = person_id.removeprefix(_VISITOR)
    return tr("Visitor {id}", id=visitor[:_SHOWN]) if visitor != person_id else person_id


def short_actor_name(actor: str, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the actor of an audit entry, such as ``cli:anna``, for display.

    ``names`` maps known ids to names.
    """
    who = actor.removeprefix(_BOARD)
    return names.get(who) or _NAMELESS.get(who) or short_user_name(who)

"""What somebody may do here, and who is signed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bot.types import Person

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

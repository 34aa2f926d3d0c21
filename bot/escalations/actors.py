"""Who acts on an escalation: one id for one person, whichever platform they act on; pure."""

from __future__ import annotations

from bot.escalations.types import Actor, Role
from bot.types import Person


def actor_of(
    person: Person, role: Role, *, name: str = "", also: frozenset[str] = frozenset()
) -> Actor:
    """Return a person as one who acts.

    Who has a verified address is known by it everywhere, in small letters; their id on this
    platform stays theirs, for they may have asked, or claimed something earlier, under it; so do
    those that are ``also`` theirs.
    """
    known = person.email.lower() if person.email else person.id
    return Actor(known, name or person.name, role, (also | {person.id}) - {known, ""})

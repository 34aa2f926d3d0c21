"""Who acts on an escalation: one id for one person, whichever platform they act on; pure."""

from __future__ import annotations

from dataclasses import replace

from bot.escalations.types import Actor, Role
from bot.types import Person, Platform


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


def expert_of(platform: Platform, person: Person) -> Actor:
    """Return a colleague as one who answers; ``person.id`` is their platform's own.

    They may have asked it themselves, and then they did so under that plain id.
    """
    named = replace(person, id=f"{platform}:{person.id}")
    return actor_of(named, "expert", also=frozenset({person.id}))

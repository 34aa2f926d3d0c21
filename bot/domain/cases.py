"""Values of an escalation: case, status, steps, actors, notices; and the threads below its cards.

A case is the record's name for one escalated question. An actor has one id on all platforms
where a verified e-mail address says that it is the same person.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from bot.domain.interactions import EscalationReason, PostedRef
from bot.domain.messages import InteractionId, Outsider, Person, Platform, Thread
from bot.domain.ports import Notes

State = Literal["open", "claimed", "answered", "resolved", "declined", "reopened"]
"""open and reopened wait for somebody; claimed and answered have an owner; resolved and declined
are settled, until somebody reopens them."""

Act = Literal["claim", "release", "reply", "resolve", "decline", "reopen"]

ActorRole = Literal["asker", "expert"]
"""What somebody is to one escalation: its asker, or one of those who answer."""

Step = Literal["open", "claim", "release", "reply", "resolve", "decline", "reopen", "ping"]
"""What happened to an escalation; ``ping`` is that people were reminded."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts; ``id`` is the same on every platform where it is known to be the same person.

    ``also`` are their other ids, such as the one they asked under; the record keeps ``id`` alone.
    """

    id: str
    name: str
    role: ActorRole
    also: frozenset[str] = field(default=frozenset(), compare=False)

    def has(self, person_id: str) -> bool:
        """Tell whether an id is theirs."""
        return person_id == self.id or person_id in self.also


@dataclass(frozen=True, slots=True)
class CaseStatus:
    """What the rules look at: the state, and who has it. ``owner_id`` is empty for nobody."""

    state: State
    owner_id: str = ""
    owner_name: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """An escalation as it stands; ``channel`` is ``platform:channel``, where it was asked.

    ``asker_name`` is empty where the platform gave none, ``outsider`` for a colleague. ``due_at``
    is when people are reminded next, None when they are not. ``version`` counts changes.
    """

    interaction_id: InteractionId
    tenant: str
    standing: CaseStatus
    reason: EscalationReason
    question: str
    asker_id: str
    asker_name: str
    channel: str
    private: bool
    opened_at: datetime
    changed_at: datetime
    due_at: datetime | None = None
    pings: int = 0
    version: int = 0
    outsider: Outsider = ""

    @property
    def asker_mark(self) -> str:
        """Return what stands behind the asker's name, such as " (guest)"; "" for a colleague."""
        return f" ({self.outsider})" if self.outsider else ""


@dataclass(frozen=True, slots=True)
class CaseStep:
    """One entry of a case's history; ``number`` counts within the case from 1.

    ``text`` is the reply, the reason of a refusal, or what the asker said; else empty.
    """

    interaction_id: InteractionId
    number: int
    step: Step
    actor: Actor | None
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class CaseQuery:
    """Which cases to list; empty means all. ``words`` are looked for in the question.

    Those that wait longest come first, unless the ``newest_first`` are wanted.
    """

    states: frozenset[State] = frozenset()
    owner_id: str = ""
    words: str = ""
    newest_first: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """What somebody is to be told about a case; ``id`` is the same at every attempt.

    ``to`` asker: in the thread of the question. ``to`` people: where people are asked; every step
    is news to them, for what they see of the case is to be as it stands.
    """

    id: str
    interaction_id: InteractionId
    number: int
    step: Step
    to: Literal["asker", "people"]
    actor: Actor | None
    text: str
    attempts: int = 0
    posted: PostedRef | None = None


def actor_of(
    person: Person, role: ActorRole, *, name: str = "", also: frozenset[str] = frozenset()
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


THREAD_NOT_READ = "Use Reply: this thread isn't read."
"""What a card says as long as it can be replied to."""

USE_REPLY = (
    "Use Reply on the question above: this thread isn't read, so nobody was told what you wrote."
)
"""What somebody is told who mentions the bot below a card."""


async def mark_card_thread(
    notes: Notes, platform: str, tenant: str, case_id: InteractionId, at: PostedRef
) -> None:
    """Note that a thread is a card's, for all processes. Raises StoreUnavailable."""
    if at.id:
        thread = Thread(platform, tenant, at.channel, at.id)
        await notes.put(tenant, _key(thread), case_id, interaction_id=case_id)


async def is_card_thread(notes: Notes, thread: Thread) -> bool:
    """Tell whether a thread is below the card of a case. Raises StoreUnavailable."""
    return await notes.get(thread.tenant, _key(thread)) is not None


def _key(thread: Thread) -> str:
    return f"{thread.platform}:card-thread:{thread.channel}:{thread.id}"

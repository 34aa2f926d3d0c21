"""Values of an escalation: case, status, steps, actors, notices; and the threads below its cards.

A case is the stored form of one escalated question. An actor has one id on all platforms if a
verified e-mail address identifies the same person.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from bot.domain.interactions import EscalationReason, PostedRef
from bot.domain.messages import InteractionId, Outsider, Person, Platform, Thread
from bot.domain.ports import Notes
from bot.domain.texts import tr

State = Literal["open", "claimed", "answered", "resolved", "declined", "reopened"]
"""open and reopened: unclaimed. claimed and answered: owned by an expert. resolved and declined:
settled, until somebody reopens the case."""

Act = Literal[
    "claim",
    "release",
    "assign",
    "note",
    "reply",
    "amend",
    "retract",
    "resolve",
    "decline",
    "reopen",
    "ask_more",
    "show_more",
    "keep_more",
    "see_more",
]
"""``assign`` gives a case to a colleague, with a reason; ``note`` is read by experts alone;
``amend`` and ``retract`` correct or take back an own reply. ``ask_more`` asks to see what the asker
wrote before, ``show_more`` and ``keep_more`` are their answers, ``see_more`` is the look at it."""

GROUP_ACTS = ("join", "split")
"""What changes which cases are one; ``bot.escalations.ports.Cases`` has a method for each."""

ActorRole = Literal["asker", "expert"]
"""A person's role in one escalation: its asker, or an expert who may answer it."""

Step = Literal["open", "join", "split", "joined", "left", "lead", Act, "ping", "second_level"]
"""A kind of history entry: an act, or what nobody did. ``ping`` is a reminder to people,
``second_level`` the question to those who are asked after a time. ``join``: an expert joined the
case to one of the same question; ``split``: and made it one of its own again. ``joined`` and
``left`` are in the leading case's history; ``lead``: the case leads now what another led."""


SECOND_LEVEL = 2
"""``Case.level`` once the second level was asked; 1 before."""


@dataclass(frozen=True, slots=True)
class Actor:
    """The person who performs an act; ``id`` is one on all platforms if they are known to match.

    ``also`` are the person's other ids, such as the one they asked under; only ``id`` is stored.
    """

    id: str
    name: str
    role: ActorRole
    also: frozenset[str] = field(default=frozenset(), compare=False)

    def has(self, person_id: str) -> bool:
        """Return whether ``person_id`` is one of this actor's ids."""
        return person_id == self.id or person_id in self.also


@dataclass(frozen=True, slots=True)
class ActDetail:
    """What some acts name besides their text.

    ``to`` is the colleague who gets an assigned case. ``about`` is the number of the step that an
    act is about: the reply that is amended or retracted, or the request to see more that is
    answered; 0 for other acts. ``in_thread``: the asker has read the reply already, where its
    author wrote it. ``shared_with`` are the cases of the same question to whose askers the words
    may go: if one is left out, they go to the asker of the case alone where they were written.
    """

    to: Actor | None = None
    about: int = 0
    in_thread: bool = False
    shared_with: frozenset[InteractionId] = field(default=frozenset(), compare=False)


NO_DETAIL = ActDetail()


@dataclass(frozen=True, slots=True)
class CaseStatus:
    """State and owner of a case, as the state machine uses them; ``owner_id`` "" means unowned."""

    state: State
    owner_id: str = ""
    owner_name: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """The current version of an escalation; ``channel`` is ``platform:channel`` of the question.

    ``asker_name`` is empty if the platform gave none; ``outsider`` is empty for a colleague.
    ``due_at`` is the time of the next reminder, None for no more. ``version`` counts changes.
    ``level`` is 2 once the second level was asked. ``joined_to`` is the leading case of the same
    question, which is answered for all; ``askers`` is how many people asked it, of a leading case.
    Only cases of one ``join_scope`` may be one: of the same readers and experts; "" for none.
    """

    interaction_id: InteractionId
    tenant: str
    status: CaseStatus
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
    level: int = 1
    joined_to: InteractionId | None = None
    join_scope: str = ""
    askers: int = 1

    @property
    def asker_mark(self) -> str:
        """Return the suffix of the asker's name, such as " (guest)"; "" for a colleague."""
        return f" ({self.outsider})" if self.outsider else ""


@dataclass(frozen=True, slots=True)
class CaseStep:
    """One entry of a case's history; ``number`` counts within the case from 1.

    ``text`` is the reply, the reason for declining or assigning, the note, or the asker's comment;
    else empty.
    """

    interaction_id: InteractionId
    number: int
    step: Step
    actor: Actor | None
    text: str
    at: datetime
    detail: ActDetail = NO_DETAIL


@dataclass(frozen=True, slots=True)
class CaseQuery:
    """Filters and order of a list of cases; an empty filter means all.

    ``asker_id`` is the asker's id on their platform. ``words`` are searched in the question. The
    cases that wait longest come first, unless ``newest_first`` is set. ``leading`` leaves out those
    that joined another; ``joined_to`` finds those that joined it.
    """

    states: frozenset[State] = frozenset()
    owner_id: str = ""
    asker_id: str = ""
    words: str = ""
    newest_first: bool = False
    leading: bool = False
    joined_to: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A notification about a case in the outbox; ``id`` is the same at every attempt.

    ``to`` "asker": posted in the thread of the question. ``to`` "people": sent to the experts'
    channel, for every step, so that the case's cards are kept up to date.
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
    detail: ActDetail = NO_DETAIL


def actor_of(
    person: Person, role: ActorRole, *, name: str = "", also: frozenset[str] = frozenset()
) -> Actor:
    """Return the actor for a person.

    The id is the verified e-mail address in lower case if there is one, else the platform's id. The
    platform's id and those in ``also`` are kept as further ids, because an earlier question or
    claim may be stored under them.
    """
    known = person.email.lower() if person.email else person.id
    return Actor(known, name or person.name, role, (also | {person.id}) - {known, ""})


def expert_of(platform: Platform, person: Person) -> Actor:
    """Return the expert actor for a colleague; ``person.id`` is the platform's own id.

    The plain id is kept in ``also``: the colleague may have asked the question, which stores it.
    """
    named = replace(person, id=f"{platform}:{person.id}")
    return actor_of(named, "expert", also=frozenset({person.id}))


THREAD_NOT_READ = tr("Please use Reply: I don't read this thread.")
"""Shown on a card while it can be replied to."""

USE_REPLY = tr(
    "Please use Reply on the question above. I don't read this thread, so the asker hasn't seen "
    "what you wrote."
)
"""Reply to somebody who mentions the bot in the thread below a card."""


WRITTEN_NOTES = ":written:"
"""Part of the key of a note with what an expert wrote in a case's thread."""


async def mark_card_thread(
    notes: Notes, platform: str, tenant: str, case_id: InteractionId, at: PostedRef
) -> None:
    """Store that a thread belongs to a card, for all processes. Raises StoreUnavailable."""
    if at.id:
        thread = Thread(platform, tenant, at.channel, at.id)
        await notes.put(tenant, _key(thread), case_id, interaction_id=case_id)


async def is_card_thread(notes: Notes, thread: Thread) -> bool:
    """Return whether a thread is below the card of a case. Raises StoreUnavailable."""
    return await case_of_card_thread(notes, thread) is not None


async def case_of_card_thread(notes: Notes, thread: Thread) -> InteractionId | None:
    """Return the case below whose card a thread is, None for another. Raises StoreUnavailable."""
    found = await notes.get(thread.tenant, _key(thread))
    return InteractionId(found) if found else None


def _key(thread: Thread) -> str:
    return f"{thread.platform}:card-thread:{thread.channel}:{thread.id}"

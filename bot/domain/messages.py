"""A message, who wrote it and who reads along, and what the desk gets of it; frozen values."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, NewType
from urllib.parse import quote

from rag.types import EVERYONE, Principal, Turn

InteractionId = NewType("InteractionId", str)
"""UUIDv5 of the message key: the same message always has the same id."""

_NAMESPACE = uuid.UUID("6d1f0a52-6a3c-5a0e-9d0b-3f6f6e2f9a11")


Platform = str
"""An adapter's name: slack, teams, web, rest, cli, or a third party's own."""


class Intent(StrEnum):
    """What a message wants; UNKNOWN goes the way of DOMAIN."""

    GENERIC = "GENERIC"
    DOMAIN = "DOMAIN"
    UNKNOWN = "UNKNOWN"
    HUMAN = "HUMAN"


class Stage(StrEnum):
    """What is being done to a message, as shown to the one who waits."""

    RECEIVED = "received"
    ROUTING = "routing"
    SEARCHING = "searching"
    READING = "reading"
    CHECKING = "checking"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Thread:
    """Where a conversation is. ``channel`` and ``id`` are the platform's own names."""

    platform: Platform
    tenant: str
    channel: str
    id: str

    @property
    def key(self) -> str:
        """One string for the conversation, unambiguous for any part."""
        return _join(self.platform, self.tenant, self.channel, self.id)


Outsider = Literal["", "guest", "other company", "not a colleague"]
"""What somebody is who is no colleague, as people read it; "" for a colleague."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks, as far as the platform vouches for it.

    ``principals`` always holds ``everyone``; ``email`` is set only when verified.
    """

    id: str
    name: str = ""
    email: str | None = None
    principals: frozenset[Principal] = frozenset({EVERYONE})
    outsider: Outsider = ""


@dataclass(frozen=True, slots=True)
class Activity:
    """What is being done, as reported; ``pages`` counts what is read, 0 where it is not known."""

    stage: Stage
    pages: int = 0


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message. ``place`` is where its adapter gets it, opaque to others.

    ``size`` is in bytes as the platform says, 0 where it says nothing.
    """

    name: str
    media_type: str
    size: int
    place: str


@dataclass(frozen=True, slots=True)
class Message:
    """One question as it arrived, the bot's own mention already removed from ``text``.

    ``id`` is the platform's id of the message within ``thread.channel``. ``private`` says that
    nobody but the asker sees the thread. ``reply_to`` is whatever the platform needs to answer
    (JSON), opaque to everyone but its adapter. ``traceparent`` is the caller's trace (W3C), if any.
    ``overheard`` says that nobody addressed the bot: it speaks only if it has a sure answer.
    ``by_bot``: another bot wrote it.
    """

    id: str
    thread: Thread
    author: Person
    text: str
    received_at: datetime
    private: bool = False
    reply_to: str = ""
    traceparent: str = ""
    overheard: bool = False
    attachments: tuple[Attachment, ...] = ()
    by_bot: bool = False

    @property
    def key(self) -> str:
        """``platform:tenant:channel:message id``, each part percent-encoded."""
        return _join(self.thread.platform, self.thread.tenant, self.thread.channel, self.id)

    @property
    def interaction_id(self) -> InteractionId:
        return InteractionId(str(uuid.uuid5(_NAMESPACE, self.key)))


@dataclass(frozen=True, slots=True)
class Introduction:
    """Who asks, and whether people of other organisations (guests too) read or ask.

    ``author.outsider`` says that they ask.
    """

    author: Person
    outsiders: bool = False


@dataclass(frozen=True, slots=True)
class Audience:
    """Who will read the reply; retrieval is bounded by ``principals``, never by the asker's."""

    kind: Literal["private", "channel"]
    principals: frozenset[Principal]


AnswerMode = Literal["mentions", "questions", "off"]
"""mentions: who addresses the bot is answered. questions: also what it overhears, if it is sure.
off: nobody is."""


NO_MODEL = "none"
"""The model of a channel that is answered in the pages' own words."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a channel allows. ``spaces`` None means all.

    ``follow_ups``: in a thread that the bot is in, it need not be mentioned again. ``people`` is
    where people are asked, in the platform's own names; "" means where the settings say. ``model``
    "" means the configured one. ``other_bots``: they may ask, too.
    """

    spaces: frozenset[str] | None = None
    answers: AnswerMode = "mentions"
    follow_ups: bool = False
    people: str = ""
    model: str = ""
    other_bots: bool = False


@dataclass(frozen=True, slots=True)
class Attached:
    """The text of a file that came with a message."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A retrieved passage as recorded: identity and signals, not its text."""

    chunk_id: str
    page_id: str
    title: str
    section: str
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A message with all that the desk needs to answer it.

    ``heard`` are the passages that ``history`` rests on. ``attached`` is what was read of its
    files; ``remarks`` are what its asker must be told besides the answer, such as which file was
    not read; ``notes`` are for the operator. ``asker`` is who is recorded, as the platform
    introduced them, None where the message said all that is known. ``outsiders`` says that people
    from outside the company ask or read along: ``policy`` has only the spaces that are open to
    them. ``excluded_pages`` serves evaluation only (the withheld run).
    """

    message: Message
    history: tuple[Turn, ...]
    audience: Audience
    policy: Policy = Policy()
    attached: tuple[Attached, ...] = ()
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    asker: Person | None = None
    heard: tuple[FoundPassage, ...] = ()
    outsiders: bool = False
    excluded_pages: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Limit:
    """What stops a message: a rate, a budget, the pause, or too many that wait.

    ``until`` is when it can be asked again, None where nobody knows.
    """

    kind: Literal["rate", "budget", "pause", "queue"]
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A message that is not worked on: what its asker is told, and why, for the operator.

    ``silent``: they were told before, and this one is only recorded. ``limit`` is None where it is
    refused for another reason than that it is too much now. ``ephemeral``: it is for them alone,
    where the platform can show something to one person.
    """

    text: str
    note: str
    silent: bool = False
    limit: Limit | None = None
    ephemeral: bool = False


def _join(*parts: str) -> str:
    return ":".join(quote(part, safe="") for part in parts)

"""A message, its author and audience, and the inquiry built from it; frozen values."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Literal, NewType
from urllib.parse import quote

from rag.types import EVERYONE, Principal, Turn

InteractionId = NewType("InteractionId", str)
"""UUIDv5 of the message key: the same message always has the same id."""

_NAMESPACE = uuid.UUID("6d1f0a52-6a3c-5a0e-9d0b-3f6f6e2f9a11")
_IDS_KEPT = 1024


Platform = str
"""An adapter's name: slack, teams, web, rest, cli, or a third party's own."""


class Intent(StrEnum):
    """Intent of a message; UNKNOWN is handled like DOMAIN."""

    GENERIC = "GENERIC"
    DOMAIN = "DOMAIN"
    UNKNOWN = "UNKNOWN"
    HUMAN = "HUMAN"


class Stage(StrEnum):
    """Processing stage of a message, as shown to the asker."""

    RECEIVED = "received"
    WAITING = "waiting"
    ROUTING = "routing"
    SEARCHING = "searching"
    READING = "reading"
    CHECKING = "checking"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation. ``channel`` and ``id`` are the platform's own ids."""

    platform: Platform
    tenant: str
    channel: str
    id: str

    @property
    def key(self) -> str:
        """Unambiguous string key of the conversation."""
        return _join(self.platform, self.tenant, self.channel, self.id)


Outsider = Literal["", "guest", "other company", "not a colleague"]
"""How a person from outside the company is labelled for people; "" for a colleague."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person, as far as the platform vouches for the data.

    ``principals`` always holds ``everyone``; ``email`` is set only when verified.
    """

    id: str
    name: str = ""
    email: str | None = None
    principals: frozenset[Principal] = frozenset({EVERYONE})
    outsider: Outsider = ""


@dataclass(frozen=True, slots=True)
class Activity:
    """A progress report; ``pages`` is the number of pages being read, 0 if unknown.

    While a question is WAITING it is the number of questions before it.
    """

    stage: Stage
    pages: int = 0


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to a message. ``place`` locates it for its adapter, opaque to others.

    ``size`` is in bytes as the platform reports it, 0 if it does not.
    """

    name: str
    media_type: str
    size: int
    place: str


_SENT_ALONG = "base64:"


def sent_along(content: bytes) -> str:
    """Return the place of a file that comes with its message: the record keeps it apart."""
    return f"{_SENT_ALONG}{base64.b64encode(content).decode()}"


def content_sent_along(attachment: Attachment) -> bytes | None:
    """Return the content of a file that came with its message, None for one that is elsewhere."""
    place = attachment.place
    if not place.startswith(_SENT_ALONG):
        return None
    return base64.b64decode(place.removeprefix(_SENT_ALONG))


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """What an asker limits the search to, within what it may find anyway; None limits nothing.

    ``source_type`` is as in rag.types.Chunk.
    """

    spaces: frozenset[str] | None = None
    source_type: str | None = None

    def within(self, spaces: frozenset[str] | None) -> frozenset[str] | None:
        """Return the wanted spaces among those that may be searched (None: all), never more."""
        if self.spaces is None or spaces is None:
            return spaces if self.spaces is None else self.spaces
        return self.spaces & spaces


def file_note(attachments: Sequence[Attachment]) -> str:
    """Return the names of files as people read them: "(with vpn.log, shot.png)"; "" for none."""
    names = ", ".join(" ".join(each.name.split()) for each in attachments)
    return f"(with {names})" if names else ""


@dataclass(frozen=True, slots=True)
class Message:
    """One received message, with the mention of the bot removed from ``text``.

    ``id`` is the platform's id of the message within ``thread.channel``. ``private``: only the
    asker sees the thread. ``reply_to`` is the platform's reply address (JSON), opaque to everyone
    but its adapter. ``traceparent`` is the caller's trace (W3C), if any. ``overheard``: the message
    does not address the bot, which replies only with a sure answer. ``by_bot``: another bot wrote
    it. ``search_filters`` are the asker's own; messages stored by older versions have none.
    ``model`` is the model that the request names, "" for the usual one. ``shadow``: the bot only
    practises where it was asked: nothing is shown or posted there, and reviewers see a draft.
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
    search_filters: SearchFilters = SearchFilters()
    model: str = ""
    shadow: bool = False

    @property
    def shows_nothing(self) -> bool:
        """Whether no progress, refusal or failure is shown: nobody asked, or the bot practises."""
        return self.overheard or self.shadow

    @property
    def key(self) -> str:
        """``platform:tenant:channel:message id``, each part percent-encoded."""
        return _join(*self._place)

    @property
    def asked(self) -> str:
        """The text; the names of the files of a message without one: "(with shot.png)"."""
        return self.text if self.text.strip() else file_note(self.attachments)

    @property
    def interaction_id(self) -> InteractionId:
        return _interaction_id(*self._place)

    @property
    def _place(self) -> tuple[str, str, str, str]:
        return self.thread.platform, self.thread.tenant, self.thread.channel, self.id


_OPTION_SUFFIX = ":option"
_BESIDE = ":beside:"


def chosen_option_id(asked_id: str) -> str:
    """Return the message id of the option that is chosen below a message; one for each message."""
    return f"{asked_id}{_OPTION_SUFFIX}"


def chosen_section_id(press: str, chunk_id: str) -> str:
    """Return the message id of a section that is chosen beside an answer, which is an option, too.

    ``press`` tells it from other presses.
    """
    return chosen_option_id(f"{press}{_BESIDE}{chunk_id}")


def chosen_section(message: Message) -> str | None:
    """Return the chunk of the section that a message chose beside an answer, else None."""
    _, beside, chunk_id = message.id.removesuffix(_OPTION_SUFFIX).rpartition(_BESIDE)
    return chunk_id if beside and is_chosen_option(message) else None


def edited_id(message: Message) -> str:
    """Return the message id of the question that replaces an answered one; one for each."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"edited {message.key}"))


def is_chosen_option(message: Message) -> bool:
    """Return whether a message comes from a button with an option: a page's words, not typed."""
    return message.id.endswith(_OPTION_SUFFIX)


@dataclass(frozen=True, slots=True)
class Introduction:
    """The author as looked up on the platform, and whether outsiders (guests too) read or ask.

    ``author.outsider`` is set if the author is an outsider.
    """

    author: Person
    outsiders: bool = False


@dataclass(frozen=True, slots=True)
class Audience:
    """Readers of the reply; retrieval is limited by their ``principals``, never the asker's."""

    kind: Literal["private", "channel"]
    principals: frozenset[Principal]


AnswerMode = Literal["mentions", "questions", "shadow", "off"]
"""mentions: only messages that address the bot are answered. questions: also unaddressed ones, if
the answer is sure. shadow: as questions, but nothing is posted: reviewers see drafts. off: none."""


NO_MODEL = "none"
"""Model name of a channel that is answered with verbatim quotes."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of a channel. ``spaces`` None means all.

    ``follow_ups``: no mention is needed in a thread with the bot. ``people`` is the experts'
    channel, in the platform's own id; "" means the configured one. ``model`` "" means the
    configured one. ``other_bots``: other bots may ask, too. ``reviewers`` are the platform's ids of
    the members who judge the drafts of a channel in shadow mode.
    """

    spaces: frozenset[str] | None = None
    answers: AnswerMode = "mentions"
    follow_ups: bool = False
    people: str = ""
    model: str = ""
    other_bots: bool = False
    reviewers: frozenset[str] = frozenset()


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
    """A message with everything needed to answer it.

    ``heard`` are the passages that ``history`` was based on; ``offered`` are those of the option
    that the message repeats, readable or not. ``attached`` is the text of its files;
    ``remarks`` are told to the asker besides the answer, such as a file that was not read;
    ``notes`` are for the operator. ``asker`` is the author to record, as looked up on the platform,
    None if the message's author is complete. ``outsiders``: people from outside the company ask or
    read along, and ``policy`` has only the spaces open to them. ``excluded_pages`` serves
    evaluation only (the withheld run).
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
    offered: tuple[FoundPassage, ...] = ()
    outsiders: bool = False
    excluded_pages: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit that stops a message: a rate, a budget, the pause, or a full queue.

    ``until`` is the earliest time to ask again, None if unknown.
    """

    kind: Literal["rate", "budget", "pause", "queue"]
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rejected message: the text for its asker, and a note for the operator.

    ``silent``: the asker was told before, and this message is only recorded. ``limit`` is None if
    the reason is no usage limit. ``ephemeral``: shown to the asker alone, if the platform can.
    """

    text: str
    note: str
    silent: bool = False
    limit: Limit | None = None
    ephemeral: bool = False


@lru_cache(maxsize=_IDS_KEPT)
def _interaction_id(*place: str) -> InteractionId:
    """Return the id for the parts of a message's key; each answer needs it some twenty times."""
    return InteractionId(str(uuid.uuid5(_NAMESPACE, _join(*place))))


def _join(*parts: str) -> str:
    return ":".join(quote(part, safe="") for part in parts)

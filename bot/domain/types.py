"""Values that pass between platforms, inbox and desk: messages, responses, interactions.

All of them are frozen and JSON-serialisable.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal, NewType
from urllib.parse import quote

from rag.types import EVERYONE, FilterVerdict, ModelCall, Principal, Turn

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


@dataclass(frozen=True, slots=True)
class Route:
    """The intent, how sure the router is (0..1), who decided, and the stand-alone question.

    ``leaned_on`` are the earlier exchanges of the thread, of whomever, that ``question`` took words
    from, oldest first; empty for a question that stood alone.
    """

    intent: Intent
    score: float
    decided_by: Literal["rule", "classifier", "model", "default"]
    question: str
    calls: tuple[ModelCall, ...] = ()
    notes: tuple[str, ...] = ()
    leaned_on: tuple[InteractionId, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A page that is cited or offered; ``quote`` is verbatim from the stored passage.

    ``line`` is the part of the quote that answers best, "" where that is not known.
    ``relevance`` is 0..1 and comparable within one answer only. ``updated_at`` is when the page was
    changed last, None where that is not known, and ``updated_by`` the name of who did it;
    ``labels`` are the page's own; ``superseded`` is the one of them that says so, or "".
    """

    chunk_id: str
    page_id: str
    title: str
    url: str
    section: str
    quote: str
    document_page: int | None
    relevance: float
    source_type: str
    source_id: str
    space: str = ""
    updated_at: datetime | None = None
    labels: tuple[str, ...] = ()
    updated_by: str = ""
    superseded: str = ""
    line: str = ""


ErrorCode = Literal[
    "index_unavailable", "model_unavailable", "model_answer_invalid", "timeout", "internal"
]
"""Why something that was needed for an answer did not work; documented in docs/api.md."""


ConfidenceLevel = Literal["sure", "partial", "unsure"]
"""partial: a part of the question is answered; unsure: below the threshold, offered as a guess."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. ``text`` is Markdown with ``[1]``-style marks into ``sources``.

    ``tone`` is how it is offered: "found" quotes what the wiki says (no model), "answer" is
    composed by a model and checked, "generic" never touched the index. ``limit`` is set where a
    limit refused the question, ``error`` where the text is an apology for what did not work.
    ``confidence_level`` is None where nothing was looked up; ``missing`` is what of the question
    the pages do not say.
    """

    text: str
    tone: Literal["found", "answer", "generic"]
    sources: tuple[Source, ...] = ()
    confidence: float | None = None
    refused: bool = False
    kind: Literal["reply"] = "reply"
    limit: Limit | None = None
    error: ErrorCode | None = None
    confidence_level: ConfidenceLevel | None = None
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Clarification:
    """One question back, with what could be meant."""

    text: str
    options: tuple[str, ...] = ()
    suggestions: tuple[Source, ...] = ()
    confidence: float | None = None
    kind: Literal["clarification"] = "clarification"


EscalationReason = Literal[
    "asked_for_human",
    "low_confidence",
    "nothing_found",
    "unsupported",
    "unavailable",
    "undelivered",
]
"""undelivered: there was an answer, and the platform did not take it; no response has it."""


@dataclass(frozen=True, slots=True)
class Escalation:
    """The question goes to a person. ``text`` is what the asker is told.

    ``suggestions`` are the pages found, offered unconfirmed; ``question`` is what the person is
    asked. ``consent_needed`` in a private conversation: it is offered, not yet posted. ``people``
    is where they are asked, in the platform's own names; "" means where the settings say.
    ``statement`` is the part of the text that says why, without what is done about it; "" where
    there is no such part. ``error`` is set with the reason "unavailable".
    """

    text: str
    reason: EscalationReason
    question: str
    suggestions: tuple[Source, ...] = ()
    confidence: float | None = None
    consent_needed: bool = False
    people: str = ""
    kind: Literal["escalation"] = "escalation"
    statement: str = ""
    error: ErrorCode | None = None


Response = Reply | Clarification | Escalation


@dataclass(frozen=True, slots=True)
class Trace:
    """Why this outcome: everything the desk saw and decided, kept with the interaction.

    ``gate`` is "passed", "unsure" (shown as a guess), "stopped", or "" where nothing was judged;
    ``calibration`` is what judged, by name (bot.answering.gate_file), "" where it was not recorded.
    ``heard`` are the passages behind the earlier turns that a model or the question's rewriting
    knew, without signals; None where it was not recorded.
    """

    route: Route
    passages: tuple[FoundPassage, ...] = ()
    features: Mapping[str, float] = field(default_factory=dict)
    threshold: float | None = None
    gate: str = ""
    calibration: str = ""
    calls: tuple[ModelCall, ...] = ()
    filters: tuple[FilterVerdict, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    masked_question: str | None = None
    notes: tuple[str, ...] = ()
    heard: tuple[FoundPassage, ...] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a message.

    ``private`` is a fuller reply for the asker alone; it never enters the thread's history.
    ``silent``: it is only recorded, for nobody asked the bot. ``remarks`` are shown below it.
    ``ephemeral``: it is shown to its asker alone, where the platform can show something so.
    ``asker`` is who asked as far as the platform introduced them; the record keeps them as the
    message's author, and nowhere else.
    """

    response: Response
    trace: Trace
    private: Reply | None = None
    silent: bool = False
    remarks: tuple[str, ...] = ()
    asker: Person | None = None
    ephemeral: bool = False


@dataclass(frozen=True, slots=True)
class PostedRef:
    """Where a delivery became visible, in the platform's own names."""

    channel: str
    id: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """An outcome on its way to a platform; ``id`` is the same at every attempt.

    ``placeholder`` is what was posted while the work went on, on a platform that has one: the
    reply is edited into it.
    """

    id: str
    interaction_id: InteractionId
    message: Message
    outcome: Outcome
    placeholder: PostedRef | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on an interaction; a later claim has a higher ``epoch`` and ends it."""

    owner: str
    epoch: int


Status = Literal["working", "done", "failed", "cancelling", "cancelled"]
"""working: no outcome yet. done: answered, and posted once ``posted`` is set. failed: answered,
but the platform will not take it. cancelling: withdrawn by its asker, the reply still to be
removed. cancelled: withdrawn, nothing is left of it."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """One message and what became of it, as recorded.

    ``number`` is the order of arrival, ``revision`` counts edits of the question, ``attempts``
    counts tries to post the reply, ``posting`` says that one of them may have got through unseen.
    ``failure`` says why a reply could not be posted. ``told`` is, while it is withdrawn, where
    people's replies to it were posted.
    """

    id: InteractionId
    message: Message
    status: Status
    created_at: datetime
    outcome: Outcome | None = None
    posted: PostedRef | None = None
    finished_at: datetime | None = None
    number: int = 0
    revision: int = 0
    attempts: int = 0
    posting: bool = False
    placeholder: PostedRef | None = None
    failure: str = ""
    claim: Claim | None = None
    told: tuple[PostedRef, ...] = ()

    @property
    def withdrawn(self) -> bool:
        """Whether its asker took the question back, also while what was posted is still going."""
        return self.status in {"cancelling", "cancelled"}


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Work that is still to be done, and how often it was claimed."""

    id: InteractionId
    epoch: int


@dataclass(frozen=True, slots=True)
class Feedback:
    """One person's judgement of one answer; a later one replaces it."""

    interaction_id: InteractionId
    person_id: str
    vote: Literal["up", "down"]
    given_at: datetime
    rating: int | None = None
    reason: str | None = None
    comment: str | None = None


def _join(*parts: str) -> str:
    return ":".join(quote(part, safe="") for part in parts)

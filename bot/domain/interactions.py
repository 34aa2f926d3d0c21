"""What becomes of a message: route, response, trace, outcome, delivery, record; frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from bot.domain.messages import FoundPassage, Intent, InteractionId, Limit, Message, Person
from rag.types import FilterVerdict, ModelCall


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

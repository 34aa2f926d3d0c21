"""Processing of a message as frozen values: route, response, trace, outcome, delivery, feedback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, get_args

from bot.domain.errors import FeedbackInvalid
from bot.domain.messages import FoundPassage, Intent, InteractionId, Limit, Message, Person
from rag.embedding import QuestionVector
from rag.parts import Part, Translation
from rag.search_scope import PlannedSearch
from rag.types import FilterVerdict, ModelCall


@dataclass(frozen=True, slots=True)
class Route:
    """A message's intent with the router's score (0..1), who decided, and the stand-alone question.

    ``leaned_on`` are the earlier exchanges of the thread, of any author, whose words were added to
    ``question``, oldest first; empty if the question was complete by itself. ``language`` is the
    BCP-47 tag of a question that is not in the wiki's language, else ""; ``search_query`` is that
    question in the wiki's language, "" where it could not be translated.
    """

    intent: Intent
    score: float
    decided_by: Literal["rule", "classifier", "model", "default"]
    question: str
    calls: tuple[ModelCall, ...] = ()
    notes: tuple[str, ...] = ()
    leaned_on: tuple[InteractionId, ...] = ()
    language: str = ""
    search_query: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A cited or suggested page; ``quote`` is verbatim from the stored passage.

    ``line`` is the part of the quote that answers best, "" if unknown. ``relevance`` is 0..1 and
    comparable within one answer only. ``updated_at`` and ``updated_by`` are the time (None if
    unknown) and author's name of the page's last change; ``labels`` are the page's own;
    ``superseded`` is the label that marks it as superseded, or "".
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
"""Why a dependency of an answer failed; documented in docs/api.md."""

ConfidenceLevel = Literal["sure", "partial", "unsure"]
"""partial: a part of the question is answered. unsure: below the threshold, offered as a guess."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. ``text`` is Markdown with ``[1]``-style marks into ``sources``.

    ``parts`` are the same with their kinds, without the words around them (the framed parts of
    bot.answering.reply_text). They are () where there is text alone: in a generic reply, and in
    records of versions that knew no parts.

    ``tone``: "found" quotes the wiki (no model), "answer" is composed by a model and checked,
    "generic" did not use the index. ``limit`` is set if a limit refused the question, ``error`` if
    the text is an apology for a failure. ``confidence_level`` is None if nothing was retrieved;
    ``missing`` is the part of the question that the pages do not answer. ``translation`` is set
    where the question was asked in another language than the pages': ``text`` quotes them then,
    and ends with it.
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
    parts: tuple[Part, ...] = ()
    translation: Translation | None = None


@dataclass(frozen=True, slots=True)
class Clarification:
    """A question back to the asker, with options to choose from."""

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
    "waited",
    "undelivered",
]
"""waited: longer for its turn than anyone should.

undelivered: the platform did not accept an existing answer; never the reason of a response."""


@dataclass(frozen=True, slots=True)
class Escalation:
    """A hand-over of the question to a person. ``text`` is shown to the asker.

    ``suggestions`` are the pages found, unconfirmed; ``question`` is what the person is asked.
    ``consent_needed``: in a private conversation the hand-over is offered, not yet posted.
    ``people`` is the experts' channel in the platform's own id; "" means the configured one.
    ``statement`` is the part of the text that gives the reason, without the next steps; "" if there
    is none. ``error`` is set with "unavailable" and "waited".
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
class CacheUse:
    """What the answer cache did for an answer (bot.answering.answer_cache).

    ``key`` is a digest of all that the answer depends on. "hit": it was composed at ``answered_at``
    for an earlier question. "saved": composed then for this one, and saved for later ones. "miss":
    composed for this one alone.
    """

    key: str
    result: Literal["hit", "saved", "miss"]
    answered_at: datetime


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything retrieved and decided for an outcome, stored with the interaction.

    ``gate`` is "passed", "unsure" (shown as a guess), "stopped", or "" if nothing was judged;
    ``calibration`` is the name of the calibration used (bot.answering.gate_file), "" if not
    recorded. ``searches`` are those that a model made after the first one. ``heard`` are the
    passages behind the earlier turns that a model or the query
    rewriting saw, without signals; None if not recorded. ``vector`` is that of the question that
    was searched for, None if no vectors were searched. ``masked_question`` is the question as
    models on other machines get it, None if nothing in it is masked; ``masked`` are its
    placeholders. ``cache`` is None where the answer cache was not asked.
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
    masked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    heard: tuple[FoundPassage, ...] | None = None
    searches: tuple[PlannedSearch, ...] = ()
    vector: QuestionVector | None = None
    cache: CacheUse | None = None


WITHOUT_TEXT = frozenset(
    {
        "limit:rate_per_user_per_minute",
        "limit:rate_per_channel_per_minute",
        "limit:pause",
        "limit:queue_full",
    }
)
"""Notes of refusals whose question can only be asked again, so that its text is not stored."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of processing a message.

    ``private`` is a fuller reply for the asker alone; it never enters the thread's history.
    ``silent``: recorded but not posted, because nobody asked the bot. ``remarks`` are shown below
    the response. ``ephemeral``: shown to the asker alone, if the platform can. ``asker`` is the
    author as looked up on the platform; it is stored only as the message's author.
    """

    response: Response
    trace: Trace
    private: Reply | None = None
    silent: bool = False
    remarks: tuple[str, ...] = ()
    asker: Person | None = None
    ephemeral: bool = False

    @property
    def is_kept_without_text(self) -> bool:
        """Whether the question was refused such that its text is not stored."""
        refused = isinstance(self.response, Reply) and self.response.refused
        return refused and not WITHOUT_TEXT.isdisjoint(self.trace.notes)


@dataclass(frozen=True, slots=True)
class PostedRef:
    """The posted message of a delivery, in the platform's own ids."""

    channel: str
    id: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """An outcome to be posted on a platform; ``id`` is the same at every attempt.

    ``placeholder`` is the progress message, on a platform that has one: the reply is edited into
    it.
    """

    id: str
    interaction_id: InteractionId
    message: Message
    outcome: Outcome
    placeholder: PostedRef | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A lease to work on an interaction; a later claim has a higher ``epoch`` and revokes it."""

    owner: str
    epoch: int


Status = Literal["working", "done", "failed", "cancelling", "cancelled"]
"""working: no outcome yet. done: answered, and posted once ``posted`` is set. failed: answered, but
the platform rejects the reply. cancelling: withdrawn by its asker, the reply still to be removed.
cancelled: withdrawn, and the reply removed."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """One message and its processing, as recorded.

    ``number`` is the order of arrival, ``revision`` counts edits of the question, ``attempts``
    counts attempts to post the reply; ``posting``: one of them may have succeeded unnoticed.
    ``failure`` is why the reply could not be posted. ``told`` has the posted replies of experts,
    while the interaction is being withdrawn.
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
        """Whether the asker withdrew the question, even if the reply is not removed yet."""
        return self.status in {"cancelling", "cancelled"}


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Unfinished work, and the number of times it was claimed.

    ``thread``, ``person`` and ``channel`` say whose turn it takes; ``answered``: what is left is to
    post or to withdraw.
    """

    id: InteractionId
    epoch: int
    thread: str = ""
    person: str = ""
    channel: str = ""
    answered: bool = False


Vote = Literal["up", "down"]
Reason = Literal["wrong", "incomplete", "outdated", "off_topic", "unclear", "other"]
REASONS: tuple[Reason, ...] = get_args(Reason)

LONGEST_COMMENT = 2000
"""Characters of a comment on an answer."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """One person's rating of one answer; a later one replaces it."""

    interaction_id: InteractionId
    person_id: str
    vote: Vote
    given_at: datetime
    rating: int | None = None
    reason: str | None = None
    comment: str | None = None


def new_feedback(
    interaction_id: InteractionId,
    person_id: str,
    vote: Vote,
    *,
    rating: int | None = None,
    reason: str | None = None,
    comment: str | None = None,
) -> Feedback:
    """Return validated feedback dated now; a blank comment becomes None. Raises FeedbackInvalid."""
    if rating is not None and rating not in range(1, 6):
        raise FeedbackInvalid(f"The rating {rating!r} is not one of 1 to 5.")
    if reason is not None and reason not in REASONS:
        raise FeedbackInvalid(f"The reason {reason!r} is not one of {', '.join(REASONS)}.")
    comment = (comment or "").strip() or None
    if comment is not None and len(comment) > LONGEST_COMMENT:
        raise FeedbackInvalid(
            f"The comment has {len(comment)} characters. Say it in {LONGEST_COMMENT}."
        )
    return Feedback(
        interaction_id=interaction_id,
        person_id=person_id,
        vote=vote,
        given_at=datetime.now(UTC),
        rating=rating,
        reason=reason,
        comment=comment,
    )

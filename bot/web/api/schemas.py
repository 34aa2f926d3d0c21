"""The API's JSON models for questions and answers.

Models that differ in version 2 have names that end in V2. Class names and docstrings are public:
they appear in the OpenAPI document.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from bot.answering.attachments import MOST_BYTES, MOST_FILES
from bot.domain.interactions import LONGEST_COMMENT, ErrorCode, Reason
from bot.domain.outcomes import AnswerType
from bot.web.api.part_schemas import AnswerParts, Schema

VERSION = "2"

Name = Annotated[
    str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")
]
Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
Conversation = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{1,128}$")]
SourceType = Literal["confluence", "folder", "upload", "answer"]
Signals = dict[str, float | None]


class Sent(Schema):
    """What a client sends: exact types, nothing that we would ignore."""

    model_config = ConfigDict(extra="forbid", strict=True)


class User(Sent):
    """On whose behalf the request is made; believed only from those who may say so."""

    id: Name = Field(description="the person's id, 1 to 256 characters")
    email: Name | None = Field(None, description="a verified e-mail address, or null")
    groups: list[Name] = Field(
        default_factory=list, max_length=1000, description="at most 1000 names of groups"
    )


class Ask(Sent):
    """A question."""

    question: Question = Field(
        description="a text of 1 to 4000 characters, blanks at its ends not counted"
    )
    conversation_id: Conversation | None = Field(
        None, description="1 to 128 of A-Z a-z 0-9 . _ : - to continue a conversation, or null"
    )
    user: User | None = Field(None, description="an object with id, email and groups, or null")
    show_pipeline: bool = Field(default=False, description="true or false")
    spaces: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = Field(
        None,
        description="1 to 100 names of spaces, to search in these alone, or null. One that the "
        "asker may not read counts as one that does not exist: nothing is found in it",
    )
    source_type: SourceType | None = Field(
        None,
        description="confluence, folder or upload, to search such pages alone, or null",
    )
    model: Name | None = Field(
        None, description="the name of a model that REST_MODELS allows, or null for the usual one"
    )


class AskAboutFiles(Ask):
    """A question that comes with files; the files alone are one, too."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, max_length=4000)] = Field(
        "", description="a text of at most 4000 characters, or none to ask about the files alone"
    )


class AskForm(Schema):
    """A form with a question as JSON, and its files: text, logs and PDF are read."""

    ask: AskAboutFiles
    file: Annotated[list[bytes], Field(max_length=MOST_FILES)] = Field(
        default_factory=list, description=f"At most {MOST_FILES}, of {MOST_BYTES / 1e6:g} MB each."
    )


class Amend(Sent):
    """What a question that is not answered yet asks instead."""

    question: Question = Field(
        description="a text of 1 to 4000 characters, blanks at its ends not counted"
    )


class Judge(Sent):
    """A judgement of an answer; a later one of the same person replaces it."""

    vote: Literal["up", "down"] = Field(description='"up" or "down"')
    rating: Annotated[int, Field(ge=1, le=5)] | None = Field(
        None, description="a whole number from 1 to 5, or null"
    )
    reason: Reason | None = Field(
        None, description="wrong, incomplete, outdated, off_topic, unclear, other, or null"
    )
    comment: Annotated[str, StringConstraints(max_length=LONGEST_COMMENT)] | None = Field(
        None, description=f"a text of at most {LONGEST_COMMENT} characters, or null"
    )
    user: User | None = Field(None, description="an object with id, email and groups, or null")


class Source(Schema):
    """A page that is cited or offered."""

    chunk_id: str
    page_id: str
    title: str
    url: str = Field(description="http(s), or a path on this server; empty when it is neither.")
    section: str
    quote: str = Field(description="Verbatim from the stored passage.")
    document_page: int | None = Field(description="From 1 in paged documents, else null.")
    relevance: float = Field(description="0 to 1; comparable within one answer only.")
    source_type: str
    source_id: str
    space: str
    updated_at: datetime | None = Field(description="When the page was changed last, or null.")
    updated_by: str = Field(description="The name of who changed it last; empty when unknown.")
    superseded: str = Field(description="The label by which it is marked as superseded, or empty.")


class Routed(Schema):
    """How the message was understood."""

    intent: str
    score: float
    decided_by: str
    question: str
    language: str = Field(
        description="BCP-47 tag of a question in another language than the wiki's, else empty."
    )
    search_query: str = Field(
        description="That question in the wiki's language; empty where it was not translated."
    )


class Passage(Schema):
    """A passage that was retrieved, with the index's raw signals."""

    chunk_id: str
    page_id: str
    title: str
    section: str
    signals: Signals


class ModelCall(Schema):
    """One request to a model."""

    purpose: str
    model: str
    prompt: str
    input_tokens: int
    output_tokens: int
    duration_ms: float
    cost_micro_usd: int | None
    finish_reason: str
    attempts: int
    repaired: bool


class FilterVerdict(Schema):
    """What a content filter said."""

    direction: str
    category: str
    filtered: bool
    severity: str | None


class Gate(Schema):
    """What decided between answering and asking a person."""

    name: str
    threshold: float | None
    features: Signals


class SearchFilters(Schema):
    """What the request limited the search to, as it was sent; null where it did not."""

    spaces: list[str] | None
    source_type: str | None


class PlannedSearch(Schema):
    """A search that the model made in its own words, within the asker's permissions."""

    query: str
    space: str | None
    label: str | None
    changed_since: date | None
    found: int = Field(description="Sections found.")


class Pipeline(Schema):
    """Why this answer, or why none."""

    route: Routed
    searches: list[PlannedSearch] = Field(
        description="Further searches of the model, with SEARCH=planned; else empty."
    )
    passages: list[Passage]
    model_calls: list[ModelCall]
    filters: list[FilterVerdict]
    gate: Gate
    timings_ms: Signals
    masked_question: str | None = Field(
        description="The question as models on other machines get it; null if nothing is masked."
    )
    masked: list[str] = Field(description="The placeholders in it, such as EMAIL_1; no values.")
    notes: list[str]
    search_filters: SearchFilters


class AnswerBase(Schema):
    """What became of a question, in every version."""

    interaction_id: str
    status: Literal["answered", "unknown", "refused", "error"]
    answer_type: AnswerType
    intent: Literal["GENERIC", "DOMAIN", "UNKNOWN", "HUMAN"]
    answer: str = Field(description="Markdown; [1] points to the first source.")
    confidence: float | None = Field(
        ge=0, le=1, description="Set whenever the index was asked, else null."
    )
    requires_escalation: bool = Field(description="True exactly for ESCALATION_REQUIRED.")
    sources: list[Source]
    suggestions: list[Source] = Field(description="Pages that may help, not confirmed.")
    remarks: list[str] = Field(description="Plain sentences to show below the answer.")
    warnings: list[str] = Field(
        description="Plain sentences to show next to the answer: pages marked as superseded."
    )
    conversation_id: str
    pipeline: Pipeline | None = Field(None, description="Only when it was asked for.")


class Answer(AnswerBase):
    """What became of a question."""

    status: Literal["answered", "unknown", "error"]


class LimitMet(Schema):
    """The limit that refused a question."""

    kind: Literal["rate", "budget", "pause", "queue"]
    until: datetime | None = Field(
        description="When it can be asked again; null where nobody knows."
    )


class Translation(Schema):
    """A model's translation of an answer that quotes the wiki; nobody has checked it."""

    model_config = ConfigDict(from_attributes=True)

    language: str = Field(description="BCP-47 tag of the question's language.")
    text: str


class AnswerV2(AnswerBase):
    """What became of a question."""

    confidence_level: Literal["sure", "partial", "unsure"] | None = Field(
        description="How an answer from the wiki (`RAG`) is meant: `partial` lacks what `missing` "
        "says, `unsure` is a guess below the threshold; `answer` says so in words, too. null for "
        "all else, and for what was recorded before there were levels."
    )
    cached_at: datetime | None = Field(
        description="When a saved answer (`ANSWER_CACHE`) was composed; null for one composed for "
        "this question."
    )
    missing: str | None = Field(
        description="What of the question the pages do not say, in a model's checked words."
    )
    parts: AnswerParts = Field(
        description="An answer from the wiki by the kinds of its parts; `answer` is their text, "
        "with words around it. Empty for all else, and for what was recorded before there were "
        "parts."
    )
    translation: Translation | None = Field(
        description="For a question in another language than the wiki's: a translation of the "
        "quotations, with which `answer` ends, too."
    )
    escalation_message: str | None = Field(
        description="What Slack and Teams say in full: `answer`, and what is done about a person. "
        "null unless `requires_escalation`."
    )
    error: ErrorCode | None = Field(
        description="What did not work; set exactly with the status `error`."
    )
    limit: LimitMet | None = Field(description="The limit that refused it, if one did.")


class Feedback(Schema):
    """A judgement as it is kept."""

    model_config = ConfigDict(from_attributes=True)

    person_id: str
    vote: Literal["up", "down"]
    rating: int | None
    reason: str | None
    comment: str | None
    given_at: datetime


class Recorded(Schema):
    """What the record adds to an answer."""

    question: str
    created_at: datetime
    feedback: list[Feedback] = Field(description="One's own; all of it for admins.")


class Interaction(Recorded, Answer):
    """An answer as recorded."""


class InteractionV2(Recorded, AnswerV2):
    """An answer as recorded."""


class Working(Schema):
    """A question that is still being worked on."""

    interaction_id: str
    status: Literal["working"]
    stage: str
    pages: int = Field(description="How many are read; 0 where that is not known.")
    conversation_id: str
    question: str
    created_at: datetime


class Health(Schema):
    """The process runs, and what it does (FRONTDESK_ROLE)."""

    status: Literal["ok"]
    role: Literal["all", "accept", "work"]


class Part(Schema):
    """One part of the server; `detail` and `cure` are for admins and for this machine."""

    name: str
    state: str
    detail: str | None
    cure: str | None


class Readiness(Schema):
    """Whether questions can be answered now."""

    status: Literal["ready", "not_ready"]
    role: Literal["all", "accept", "work"]
    parts: list[Part]


class Document(Schema):
    """An OpenAPI 3.1 document."""

    model_config = ConfigDict(extra="allow")

    openapi: str

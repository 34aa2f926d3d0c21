"""The API's JSON models for experts and admins: documents, runs, the record, usage."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, ConfigDict, Field, StringConstraints

from bot.domain.cases import State, Step
from bot.domain.interactions import ConfidenceLevel
from bot.domain.messages import Intent
from bot.domain.outcomes import AnswerType
from bot.escalations.casework import LONGEST_REPLY
from bot.web.api.part_schemas import Schema
from bot.web.api.schemas import Name, Sent, User

MAX_LIMIT = 200
PageAddress = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)
]
SpaceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9~][A-Za-z0-9._~-]{0,99}$")]
SearchText = Annotated[str, StringConstraints(max_length=500)]
RunState = Literal["waiting", "running", "done", "failed", "cancelled", "interrupted"]


class FromAttributes(Schema):
    """A model that is read from an object's attributes."""

    model_config = ConfigDict(from_attributes=True)


class Failure(FromAttributes):
    """A page that could not be read; with an empty `page` it is the whole space."""

    space: str
    page: str
    reason: str
    cure: str


class IndexedSpace(FromAttributes):
    """A space: how much of it is indexed, from where, and since when."""

    name: str
    pages: int
    chunks: int
    source: str = Field(description="upload, folder, or another kind of source.")
    takes_uploads: bool = Field(description="Whether documents can be uploaded into it.")
    reindexable: bool = Field(description="Whether it is known here what fills it.")
    synced_at: datetime | None = Field(description="When a run last went over it.")
    failures: list[Failure] = Field(description="What that run could not read.")


class IndexedSpaces(Schema):
    """All spaces."""

    spaces: list[IndexedSpace]


class IndexedDocument(FromAttributes):
    """One document; `waiting` until what was sent last can be found."""

    space: str
    id: str
    title: str
    url: str
    readers: str = Field(description="everyone, group:NAME, user:ID; nobody where none is known.")
    chunks: int
    source: str
    state: Literal["indexed", "waiting", "failed"]
    updated_at: datetime | None = Field(description="As the document says itself.")
    uploaded_at: datetime | None
    uploaded_by: str
    reason: str = Field(description="Why it failed, else empty.")
    cure: str
    removable: bool = Field(description="Whether it was uploaded, and can be deleted here.")


class IndexedDocuments(Schema):
    """Documents of a space, in the order of their ids."""

    space: IndexedSpace
    documents: list[IndexedDocument]
    next: str | None = Field(description="Send it as `after` for more; null at the end.")


class DocumentSearch(Schema):
    """Which documents."""

    model_config = ConfigDict(extra="forbid")

    q: SearchText = Field("", description="words that name or title must hold, 500 characters")
    after: SearchText = Field("", description="the `next` of the page before")
    limit: int = Field(50, ge=1, le=MAX_LIMIT, description=f"a whole number from 1 to {MAX_LIMIT}")


class RunSearch(Schema):
    """Which runs."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(20, ge=1, le=MAX_LIMIT, description=f"a whole number from 1 to {MAX_LIMIT}")


class Uploaded(FromAttributes):
    """What became of an upload: it is kept, and `run_id` is the run that indexes it."""

    space: str
    id: str
    replaced: bool
    run_id: str


class StartReindex(Sent):
    """What to bring up to date."""

    space: SpaceName | None = Field(None, description="the name of a space, or null for all")
    page: PageAddress | None = Field(
        None, description="the address or id of a page that alone is read, or null"
    )
    changes: bool = Field(
        default=False, description="true to look only at what changed since the last run, or false"
    )
    dry_run: bool = Field(default=False, description="true to be told only, or false")
    allow_mass_delete: bool = Field(
        default=False, description="true to remove even a large share of a space, or false"
    )


class Reindex(FromAttributes):
    """A run as far as it is."""

    id: str
    space: str | None = Field(description="null: all spaces.")
    extent: Literal["all", "changes", "page"] = Field(description="How much is looked at.")
    page: str = Field(description="The one page's address or id; empty for none.")
    dry_run: bool
    by: str
    state: RunState
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    at_space: str = Field(description="The space that is worked on now.")
    pages: int = Field(description="Done, of `total` that are to be written.")
    total: int
    chunks: int
    chunks_per_second: float
    remaining_seconds: float | None
    added: int
    changed: int
    removed: int
    readers_changed: int
    unchanged: int
    skipped: int
    failed: int
    failures: list[Failure] = Field(description="The first hundred.")


class Reindexes(Schema):
    """The last runs, newest first."""

    runs: list[Reindex]


Words = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")]
Cursor = Annotated[str, StringConstraints(max_length=400, pattern=r"^[A-Za-z0-9_-]+$")]
Limit = Annotated[int, Field(ge=1, le=100)]
Chance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
SummedBy = Literal["day", "model", "channel", "person"]
Text = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=LONGEST_REPLY, pattern=r"^[^\x00]*$"),
]


class Queried(Schema):
    """What a client asks for in the address; nothing that we would ignore."""

    model_config = ConfigDict(extra="forbid")


class QuestionSearch(Queried):
    """Which questions to list."""

    q: Words = Field("", description="words, each of which must be in the question")
    answer_type: AnswerType | None = Field(
        None, description="GENERIC, RAG, CLARIFICATION, ESCALATION_REQUIRED or SILENT"
    )
    intent: Intent | None = Field(None, description="GENERIC, DOMAIN, UNKNOWN or HUMAN")
    platform: Annotated[str, StringConstraints(max_length=64, pattern=r"^[a-z0-9_.-]*$")] = Field(
        "", description="a platform, such as slack, teams, web or rest"
    )
    person: Words = Field("", description="the exact id of a person")
    vote: Literal["up", "down", "none"] | None = Field(None, description="up, down or none")
    since: AwareDatetime | None = Field(
        None, description="a moment with its zone, such as 2026-11-01T00:00:00Z"
    )
    until: AwareDatetime | None = Field(
        None, description="a moment with its zone; what came then or later is left out"
    )
    least: Chance | None = Field(None, description="a confidence from 0 to 1, at least")
    most: Chance | None = Field(None, description="a confidence from 0 to 1, at most")
    limit: Limit = Field(50, description="a whole number from 1 to 100")
    cursor: Cursor | None = Field(None, description="the `next` of the page before")


class QuestionSearchV2(QuestionSearch):
    """Which questions to list."""

    confidence_level: ConfidenceLevel | None = Field(None, description="sure, partial or unsure")


class CaseSearch(Queried):
    """Which escalations to list."""

    state: list[State] = Field(
        default_factory=list,
        max_length=6,
        description="open, claimed, answered, resolved, declined or reopened; may be repeated",
    )
    owner: Words = Field("", description="the exact id of who has it")
    q: Words = Field("", description="words to look for in the question")
    limit: Limit = Field(50, description="a whole number from 1 to 100")
    cursor: Cursor | None = Field(None, description="the `next` of the page before")


class UsageSearch(Queried):
    """What to sum up."""

    by: SummedBy = Field("day", description="day, model, channel or person")
    since: AwareDatetime | None = Field(
        None, description="a moment with its zone; 30 days before `until` without it"
    )
    until: AwareDatetime | None = Field(None, description="a moment with its zone; now without it")


class ActBody(Sent):
    """What is done about an escalation."""

    text: Text = Field(
        "",
        description=f"a text of at most {LONGEST_REPLY} characters: the reply, the reason or the "
        "note",
    )
    to: Words = Field(
        "",
        description="for `assign`: the id of a colleague who acted on an escalation before; for "
        "`join`: the id of the escalation of the same question that is answered for both",
    )
    about: int = Field(
        0,
        ge=0,
        description="for `amend` and `retract`: the number of an own reply in the history; for "
        "`show_more` and `keep_more`: that of the request",
    )
    name: Name | None = Field(
        None, description="how the asker is told who acts; believed as `user` is, or null"
    )
    user: User | None = Field(None, description="an object with id, email and groups, or null")


class ListedQuestion(Schema):
    """A question in a list."""

    interaction_id: str
    asked_at: datetime
    question: str
    person_id: str
    person_name: str
    platform: str
    channel: str
    private: bool
    status: str
    answer_type: AnswerType | None = Field(description="null until there is an outcome.")
    intent: Intent | None
    confidence: float | None
    ups: int
    downs: int
    escalation: State | None


class ListedQuestionV2(ListedQuestion):
    """A question in a list."""

    confidence_level: ConfidenceLevel | None = Field(description="As in an answer.")


class Questions(Schema):
    """A page of questions, newest first; it may be short although there is a next one."""

    questions: list[ListedQuestion]
    next: str | None = Field(description="The cursor of the next page; null at the end.")


class QuestionsV2(Schema):
    """A page of questions, newest first; it may be short although there is a next one."""

    questions: list[ListedQuestionV2]
    next: str | None = Field(description="The cursor of the next page; null at the end.")


class Escalation(Schema):
    """A question that went to people, as it stands."""

    interaction_id: str
    state: State
    owner_id: str | None
    owner_name: str | None
    reason: str
    question: str
    asker_id: str
    asker_name: str
    platform: str
    channel: str
    private: bool
    opened_at: datetime
    changed_at: datetime
    reminders: int
    joined_to: str | None = Field(
        description="The leading escalation of the same question, which is answered for all; null "
        "for one of its own, and to an asker."
    )
    askers: int = Field(
        description="How many people asked the question of a leading escalation; 1 to an asker."
    )


class EscalationStep(Schema):
    """One entry of an escalation's history."""

    number: int
    step: Step
    by_id: str | None
    by_name: str | None
    by_role: Literal["asker", "expert"] | None
    text: str = Field(
        description="The reply as it stands, the reason, the note, or what the asker said; else "
        "empty. An asker gets no notes, and no reason of an assignment."
    )
    at: datetime
    to_id: str | None = Field(description="Who was given it by this step; else null.")
    to_name: str | None
    about: int | None = Field(
        description="The reply that was corrected or taken back, or the request to see more that "
        "the asker answered; else null."
    )
    in_thread: bool = Field(description="True for a reply that its author wrote in the thread.")


class EarlierQuestion(Schema):
    """An earlier question of the asker in the same conversation, and what was answered."""

    interaction_id: str
    asked_at: datetime
    question: str
    answer: str = Field(description="Markdown; empty for none, or one that is withheld.")
    withheld: bool = Field(description="True if the answer quotes what the caller may not read.")


class EscalationHistory(Escalation):
    """An escalation with its history."""

    history: list[EscalationStep]
    earlier: list[EarlierQuestion] | None = Field(
        None, description="What the asker agreed to show, in the reply to `see_more` alone."
    )


class Escalations(Schema):
    """A page of escalations, those that wait longest first."""

    escalations: list[Escalation]
    next: str | None = Field(description="The cursor of the next page; null at the end.")


class UsageOf(Schema):
    """What the model calls of one day, model, channel or person came to."""

    key: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float = Field(description="Of the calls whose price is known.")
    unpriced_calls: int


class Usage(Schema):
    """Sums of model calls."""

    by: SummedBy
    since: datetime
    until: datetime
    sums: list[UsageOf]

"""API of answers by people: list, show, keep from a case, review; in version 2 only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, get_args

from aiohttp import web
from pydantic import AwareDatetime, Field, StringConstraints

from bot.domain.cases import Actor, actor_of
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.messages import InteractionId, Person
from bot.learning.answer_review import AnswerReview, link_of
from bot.learning.near_answers import NearAnswer
from bot.learning.reviewed_answers import (
    ANSWER_ACTS,
    ANSWER_STATES,
    AnswerAct,
    AnswerKind,
    AnswerState,
    AnswerText,
    ReviewedAnswer,
)
from bot.web.api.admin_schemas import Limit, Queried
from bot.web.api.operations import (
    ALWAYS_POSSIBLE,
    V2,
    WITH_BODY,
    Operation,
    Parameter,
    parameters_of,
)
from bot.web.api.part_schemas import Schema
from bot.web.api.requests import body_of, claimed_user, json_reply, query_of
from bot.web.api.schemas import Sent, User
from bot.web.auth.identity import person_of, require_role, viewer_of
from bot.web.problems import Problem, problem
from ingestion.validation import describe_readers
from rag.errors import RagError
from rag.types import Principal

_PUBLISH = "publish"
_ANONYMOUS_NAME = "The help desk"
_MAX_OFFSET = 1_000_000
Question = Annotated[str, StringConstraints(max_length=2_000)]


class AnswerSearch(Queried):
    """Which answers to list."""

    state: list[AnswerState] = Field(
        default_factory=list,
        max_length=len(get_args(AnswerState)),
        description=f"{', '.join(get_args(AnswerState))}; may be repeated",
    )
    limit: Limit = Field(50, description="a whole number from 1 to 100")
    offset: int = Field(
        0, ge=0, le=_MAX_OFFSET, description="how many of the list to leave out, a whole number"
    )


class AnswerByPerson(Schema):
    """An answer that a person wrote, for the next one who asks."""

    id: str
    kind: AnswerKind
    state: AnswerState
    version: int = Field(description="Send it with the next act; another one is refused.")
    question: str
    variants: list[str] = Field(description="Other ways to ask it.")
    text: str
    chosen: list[str] = Field(description="Who was chosen to read it: everyone, group:NAME, …")
    readers: str = Field(description="Who may really read it, within what its case allows.")
    owner: str
    owner_name: str
    case: str | None
    valid_from: datetime | None
    valid_until: datetime | None
    live_at: datetime | None
    changed_at: datetime
    thumbs_down: int
    url: str = Field(description="Its page here, for its readers.")
    published_at: str = Field(description="The page of the wiki that it became; empty if none.")


class AnswersByPeople(Schema):
    """A part of the list of answers."""

    answers: list[AnswerByPerson]
    hidden: int = Field(description="How many more of this part the caller may not see.")
    next: int | None = Field(description="Send it as `offset` for more; null at the end.")


class NearAnswerShown(Schema):
    """A live answer to nearly the same question."""

    id: str
    question: str
    similarity: float


class AnswerDetailsShown(AnswerByPerson):
    """An answer, with what can be done with it."""

    acts: list[str]
    may_choose: list[str] = Field(description="Who may be chosen to read it.")
    readers_unknown: str = Field(description="Why nobody may be chosen; empty if somebody may.")
    near: list[NearAnswerShown]


class AnswerFields(Sent):
    """What is changed of an answer; what is left out stays."""

    question: Question | None = None
    variants: list[Question] | None = Field(None, max_length=50)
    text: Annotated[str, StringConstraints(max_length=20_000)] | None = None
    chosen: list[Annotated[str, StringConstraints(max_length=300)]] | None = Field(
        None, max_length=50, description="everyone, group:NAME or user:ID"
    )
    valid_until: Annotated[AwareDatetime, Field(strict=False)] | None = None
    user: User | None = Field(None, description="an object with id, email and groups, or null")


class KeepAnswerBody(AnswerFields):
    """The case whose answer is kept; what is left out is drafted."""

    case: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    with_model: bool = Field(default=False, description="have the model draft the answer")


class AnswerActBody(AnswerFields):
    """An act on a version of an answer."""

    version: int = Field(ge=0)


_ANSWER = f"{V2}/answers/{{id}}"
_ID = Parameter("id", "path", "The answer's id.", {"type": "string"})
_ACT = Parameter(
    "act",
    "path",
    "What to do with it.",
    {"type": "string", "enum": [*ANSWER_ACTS, _PUBLISH]},
)

ANSWER_OPERATIONS = (
    Operation(
        "answers",
        "GET",
        f"{V2}/answers",
        "List what people answered by hand; for those who answer.",
        {200: AnswersByPeople},
        (*ALWAYS_POSSIBLE, 422),
        parameters=parameters_of(AnswerSearch),
    ),
    Operation(
        "answer",
        "GET",
        _ANSWER,
        "Show an answer by a person; for those who answer.",
        {200: AnswerDetailsShown},
        (*ALWAYS_POSSIBLE, 404),
        parameters=(_ID,),
    ),
    Operation(
        "keep_answer",
        "POST",
        f"{V2}/answers",
        "Keep the answer of a case as a draft.",
        {200: AnswerDetailsShown},
        (*WITH_BODY, *ALWAYS_POSSIBLE, 404, 409),
        KeepAnswerBody,
    ),
    Operation(
        "answer_act",
        "POST",
        f"{_ANSWER}/{{act}}",
        "Save, submit, approve, reject, withdraw or publish an answer.",
        {200: AnswerDetailsShown},
        (*WITH_BODY, *ALWAYS_POSSIBLE, 404, 409),
        AnswerActBody,
        (_ID, _ACT),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedAnswersApi:
    """Handlers of answers by people; each checks the role of its caller."""

    tenant: str
    review: AnswerReview

    async def list(self, request: web.Request) -> web.Response:
        """List answers, the one changed last first."""
        require_role(request, "expert")
        asked = query_of(request, AnswerSearch, repeated=("state",))
        viewer = await viewer_of(request, self.tenant)
        shown, hidden = await self.review.listed(
            asked.state or ANSWER_STATES, viewer, limit=asked.limit, offset=asked.offset
        )
        full = len(shown) + hidden == asked.limit
        listed = [AnswerByPerson(**_fields(each)) for each in shown]
        after = asked.offset + asked.limit if full else None
        return json_reply(AnswersByPeople(answers=listed, hidden=hidden, next=after))

    async def one(self, request: web.Request) -> web.Response:
        """Return an answer."""
        person = require_role(request, "expert")
        return await self._details(request, request.match_info["id"], _expert(person))

    async def keep(self, request: web.Request) -> web.Response:
        """Keep the answer of a case as a draft, or return the one that is kept."""
        require_role(request, "expert")
        sent = await body_of(request, KeepAnswerBody)
        actor = _expert(person_of(request, claimed_user(sent.user)))
        viewer, case = await viewer_of(request, self.tenant), InteractionId(sent.case)
        try:
            draft, _ = await self.review.draft(case, viewer, with_model=sent.with_model)
            kept = await self.review.keep(case, _with(draft.content, sent), actor)
        except ActRefused as refused:
            raise problem(409, str(refused)) from refused
        except InteractionUnknown as error:
            raise problem(404, str(error)) from error
        except RagError as error:
            raise problem(503, "The model or the index can't be asked now.") from error
        return await self._details(request, kept.id, actor)

    async def act(self, request: web.Request) -> web.Response:
        """Apply an act to an answer."""
        require_role(request, "expert")
        act = _act(request)
        sent = await body_of(request, AnswerActBody)
        actor = _expert(person_of(request, claimed_user(sent.user)))
        viewer, answer_id = await viewer_of(request, self.tenant), request.match_info["id"]
        try:
            if act is None:
                await self.review.publish(answer_id, sent.version, viewer=viewer, actor=actor)
            else:
                before = (await self.review.one(answer_id, viewer, actor)).answer
                written = _with(before.content, sent)
                await self.review.act(
                    answer_id, sent.version, act, written, viewer=viewer, actor=actor
                )
        except ActRefused as refused:
            raise problem(409, str(refused)) from refused
        except InteractionUnknown as error:
            raise _unknown(answer_id) from error
        return await self._details(request, answer_id, actor)

    async def _details(self, request: web.Request, answer_id: str, actor: Actor) -> web.Response:
        viewer = await viewer_of(request, self.tenant)
        try:
            found = await self.review.one(answer_id, viewer, actor)
        except InteractionUnknown as error:
            raise _unknown(answer_id) from error
        acts = [*sorted(found.acts), *([_PUBLISH] if found.can_publish else [])]
        return json_reply(
            AnswerDetailsShown(
                **_fields(found.answer),
                acts=acts,
                may_choose=sorted(found.bound.offered),
                readers_unknown=found.bound.unknown,
                near=[_near(each) for each in found.near],
            )
        )


def _expert(person: Person) -> Actor:
    return actor_of(person, "expert", name=person.name or _ANONYMOUS_NAME)


def _fields(answer: ReviewedAnswer) -> Mapping[str, Any]:
    written = answer.content
    return {
        "id": answer.id,
        "kind": answer.kind,
        "state": answer.state,
        "version": answer.version,
        "question": written.question,
        "variants": list(written.variants),
        "text": written.text,
        "chosen": sorted(written.chosen),
        "readers": describe_readers(answer.readers),
        "owner": answer.owner,
        "owner_name": answer.owner_name,
        "case": answer.case,
        "valid_from": written.valid_from,
        "valid_until": written.valid_until,
        "live_at": answer.live_at,
        "changed_at": answer.changed_at,
        "thumbs_down": len(answer.complaints),
        "url": link_of(answer),
        "published_at": answer.url,
    }


def _near(near: NearAnswer) -> NearAnswerShown:
    return NearAnswerShown(id=near.id, question=near.question, similarity=near.similarity)


def _with(content: AnswerText, sent: AnswerFields) -> AnswerText:
    """Return what was written with the fields that were sent in its place."""
    chosen = None if sent.chosen is None else frozenset(map(Principal, sent.chosen))
    return replace(
        content,
        question=content.question if sent.question is None else sent.question,
        variants=content.variants if sent.variants is None else tuple(sent.variants),
        text=content.text if sent.text is None else sent.text,
        chosen=content.chosen if chosen is None else chosen,
        valid_until=sent.valid_until or content.valid_until,
    )


def _act(request: web.Request) -> AnswerAct | None:
    """Return the act of the address; None for publishing."""
    wanted = request.match_info["act"]
    act = next((each for each in ANSWER_ACTS if each == wanted), None)
    if act is None and wanted != _PUBLISH:
        known = ", ".join([*ANSWER_ACTS, _PUBLISH])
        raise problem(404, f"There is no act {wanted[:64]!r}.", cure=f"Known are {known}.")
    return act


def _unknown(answer_id: str) -> Problem:
    return problem(404, f"There is no answer {answer_id[:64]!r}, or it is not yours to see.")

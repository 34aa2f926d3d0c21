"""API of gaps: list them, show one, change its state; in version 2 only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal, get_args

from aiohttp import web
from pydantic import Field

from bot.domain.record_reports import Span, last_days
from bot.learning.gap_views import GapDetails, GapViews, NearPage, SetsGapStates, ShownGap
from bot.learning.gaps import ChosenState, GapQuery, GapState
from bot.web.api.admin_schemas import Limit, Queried, Words
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

_DEFAULT_DAYS = 30
_MAX_OFFSET = 1_000_000
_FEW_DAYS = "a whole number from 1 to 400: the last UTC days up to now that are counted"
Days = Annotated[int, Field(ge=1, le=400)]


class GapSpan(Queried):
    """Which days are counted."""

    days: Days = Field(_DEFAULT_DAYS, description=_FEW_DAYS)


class GapSearch(GapSpan):
    """Which gaps to list."""

    state: list[GapState] = Field(
        default_factory=list,
        max_length=len(get_args(GapState)),
        description=f"{', '.join(get_args(GapState))}; may be repeated",
    )
    q: Words = Field("", description="words, all in one question that the caller may see")
    order: Literal["count", "recent"] = Field(
        "count", description="count (most asked first) or recent (asked last first)"
    )
    limit: Limit = Field(50, description="a whole number from 1 to 100")
    offset: int = Field(
        0, ge=0, le=_MAX_OFFSET, description="the `next` of the page before, a whole number"
    )


class GapPage(Schema):
    """A page near a gap, that the caller may read."""

    title: str
    url: str
    space: str
    owner: str = Field(description="The name of its last editor; empty if unknown.")
    updated_at: datetime | None


class Gap(Schema):
    """A group of questions that the wiki did not answer."""

    id: str
    name: str | None = Field(
        description="Its question nearest to the middle that the caller may see; null if none."
    )
    state: GapState
    state_by: str = Field(description="Who set the state; empty if it came about by itself.")
    state_at: datetime
    questions: int = Field(description="How many were asked in these days.")
    people: int = Field(description="How many people asked them.")
    questions_before: int = Field(description="How many were asked in as many days before.")
    questions_in_all: int
    last_asked_at: datetime | None
    pages: list[GapPage] = Field(description="The nearest first, at most three.")
    answered_by: GapPage | None = Field(description="The page that answers a closed gap now.")


class Gaps(Schema):
    """A part of the list of gaps."""

    gaps: list[Gap]
    next: int | None = Field(description="Send it as `offset` for more; null at the end.")


class GapQuestion(Schema):
    """A question of a gap, in its words."""

    question: str
    times: int = Field(description="How often it was asked in these words.")
    last_asked_at: datetime


class GapWithQuestions(Gap):
    """A gap with its questions, as far as the caller may see them."""

    asked: list[GapQuestion]
    hidden: int = Field(description="How many more there are, whose words are not shown.")


class GapStateBody(Sent):
    """What is said of a gap."""

    state: ChosenState = Field(description=f"{', '.join(get_args(ChosenState))}")
    user: User | None = Field(None, description="an object with id, email and groups, or null")


_GAP = f"{V2}/gaps/{{id}}"
_ID = Parameter("id", "path", "The gap's id.", {"type": "string"})

GAP_OPERATIONS = (
    Operation(
        "gaps",
        "GET",
        f"{V2}/gaps",
        "List what the wiki did not answer, grouped; for those who answer.",
        {200: Gaps},
        (*ALWAYS_POSSIBLE, 422),
        parameters=parameters_of(GapSearch),
    ),
    Operation(
        "gap",
        "GET",
        _GAP,
        "Show a gap with its questions; for those who answer.",
        {200: GapWithQuestions},
        (*ALWAYS_POSSIBLE, 404, 422),
        parameters=(_ID, *parameters_of(GapSpan)),
    ),
    Operation(
        "gap_state",
        "PUT",
        f"{_GAP}/state",
        "Say that a gap is taken, written up, not ours, or new again.",
        {200: GapWithQuestions},
        (*WITH_BODY, *ALWAYS_POSSIBLE, 404),
        GapStateBody,
        (_ID,),
    ),
)


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapsApi:
    """Handlers of gaps; each checks the role of its caller."""

    tenant: str
    views: GapViews
    states: SetsGapStates
    clock: Callable[[], datetime] = _utc_now

    async def list(self, request: web.Request) -> web.Response:
        """List gaps, most asked or latest first."""
        require_role(request, "expert")
        asked = query_of(request, GapSearch, repeated=("state",))
        query = GapQuery(
            span=self._span(asked.days),
            states=frozenset(asked.state),
            words=asked.q,
            recent_first=asked.order == "recent",
        )
        viewer = await viewer_of(request, self.tenant)
        found = await self.views.listed(query, viewer, limit=asked.limit, offset=asked.offset)
        return json_reply(Gaps(gaps=[_gap(each) for each in found.gaps], next=found.next))

    async def one(self, request: web.Request) -> web.Response:
        """Return a gap with its questions."""
        require_role(request, "expert")
        return await self._details(request, query_of(request, GapSpan).days)

    async def set_state(self, request: web.Request) -> web.Response:
        """Set a gap's state, with an audit entry."""
        require_role(request, "expert")
        sent = await body_of(request, GapStateBody)
        person = person_of(request, claimed_user(sent.user))
        name = person.name or person.email or person.id
        gap = request.match_info["id"]
        actor = f"api:{person.id}"
        if not await self.states.set_state(self.tenant, gap, sent.state, actor=actor, name=name):
            raise _unknown(gap)
        return await self._details(request, _DEFAULT_DAYS)

    async def _details(self, request: web.Request, days: int) -> web.Response:
        gap = request.match_info["id"]
        viewer = await viewer_of(request, self.tenant)
        found = await self.views.one(gap, self._span(days), viewer)
        if found is None:
            raise _unknown(gap)
        return json_reply(_with_questions(found))

    def _span(self, days: int) -> Span:
        return last_days(self.clock(), days)


def _gap(shown: ShownGap) -> Gap:
    summary = shown.summary
    return Gap(
        id=summary.id,
        name=shown.name or None,
        state=summary.state,
        state_by=summary.state_by,
        state_at=summary.state_at,
        questions=summary.questions,
        people=summary.people,
        questions_before=summary.before,
        questions_in_all=summary.total,
        last_asked_at=summary.last_at,
        pages=[page_of(each) for each in shown.pages],
        answered_by=None if shown.answered_by is None else page_of(shown.answered_by),
    )


def _with_questions(details: GapDetails) -> GapWithQuestions:
    asked = [
        GapQuestion(question=each.question, times=each.times, last_asked_at=each.last_at)
        for each in details.questions
    ]
    return GapWithQuestions(**dict(_gap(details.gap)), asked=asked, hidden=details.hidden)


def page_of(page: NearPage) -> GapPage:
    """Return a page near a gap, or of figures, as it is sent."""
    return GapPage(
        title=page.title,
        url=page.url,
        space=page.space,
        owner=page.owner,
        updated_at=page.updated_at,
    )


def _unknown(gap: str) -> Problem:
    return problem(404, f"There is no gap {gap[:64]!r}.")

"""API handlers for experts and admins: recorded questions, escalations and model usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from aiohttp import web

from bot.domain.cases import GROUP_ACTS, NO_DETAIL, Act, ActDetail, Actor, Case, CaseQuery, actor_of
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.interactions import ConfidenceLevel
from bot.domain.messages import InteractionId, Person
from bot.domain.ports import Interactions
from bot.domain.record_reports import Span
from bot.domain.record_search import (
    AskedQuestion,
    Cursor,
    QuestionQuery,
    ResultPage,
    decode_cursor,
    encode_cursor,
)
from bot.escalations.casework import Casework, checked, expert_named
from bot.escalations.history import as_corrected, for_asker
from bot.escalations.lifecycle import CONSENTS
from bot.escalations.ports import Cases
from bot.store.limits import StoredUsage
from bot.store.search import StoredSearches
from bot.web.api import admin_schemas
from bot.web.api.requests import body_of, claimed_user, invalid_field, json_reply, query_of
from bot.web.auth.identity import (
    identities_of,
    person_of,
    principals_of,
    require_role,
    role_of,
    signed_in_of,
)
from bot.web.problems import problem

_DEFAULT_SPAN = timedelta(days=30)
_MAX_SPAN = timedelta(days=400)
_ANONYMOUS_NAME = "The help desk"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordApi:
    """Handlers for the records; each checks the role of its caller."""

    tenant: str
    searches: StoredSearches
    cases: Cases
    works: Casework
    interactions: Interactions
    usage: StoredUsage

    async def questions(self, request: web.Request) -> web.Response:
        """List questions, newest first."""
        require_role(request, "expert")
        asked = query_of(request, admin_schemas.QuestionSearchV2)
        found = await self._found(asked, asked.confidence_level)
        listed = [
            admin_schemas.ListedQuestionV2(**_question(each), confidence_level=each.level)
            for each in found.items
        ]
        return json_reply(admin_schemas.QuestionsV2(questions=listed, next=_cursor(found.next)))

    async def questions_v1(self, request: web.Request) -> web.Response:
        """List questions in version 1's form, which has no confidence levels."""
        require_role(request, "expert")
        found = await self._found(query_of(request, admin_schemas.QuestionSearch))
        listed = [admin_schemas.ListedQuestion(**_question(each)) for each in found.items]
        return json_reply(admin_schemas.Questions(questions=listed, next=_cursor(found.next)))

    async def _found(
        self, asked: admin_schemas.QuestionSearch, level: ConfidenceLevel | None = None
    ) -> ResultPage[AskedQuestion]:
        query = QuestionQuery(
            words=asked.q,
            answer_type=asked.answer_type,
            level=level,
            intent=asked.intent,
            platform=asked.platform,
            person_id=asked.person,
            vote=asked.vote,
            since=asked.since,
            until=asked.until,
            least=asked.least,
            most=asked.most,
        )
        after = _position(asked.cursor, numbered=True)
        return await self.searches.questions(self.tenant, query, limit=asked.limit, after=after)

    async def escalations(self, request: web.Request) -> web.Response:
        """List escalations, the longest waiting first."""
        require_role(request, "expert")
        asked = query_of(request, admin_schemas.CaseSearch, repeated=("state",))
        query = CaseQuery(frozenset(asked.state), owner_id=asked.owner, words=asked.q)
        found = await self.cases.find(
            self.tenant, query, limit=asked.limit + 1, after=await self._after(asked.cursor)
        )
        shown = found[: asked.limit]
        last = shown[-1] if len(found) > asked.limit else None
        place = None if last is None else Cursor(last.opened_at, (last.interaction_id,))
        listed = [admin_schemas.Escalation(**_case(each)) for each in shown]
        return json_reply(admin_schemas.Escalations(escalations=listed, next=_cursor(place)))

    async def escalation(self, request: web.Request) -> web.Response:
        """Return an escalation with its history; for experts, admins and its asker."""
        case = await self._visible(request)
        return json_reply(await self._history(request, case))

    async def act(self, request: web.Request) -> web.Response:
        """Apply an act to an escalation, such as claim or reply."""
        sent = await body_of(request, admin_schemas.ActBody)
        case = await self._visible(request)
        actor = _actor(request, person_of(request, claimed_user(sent.user)), sent.name)
        if request.match_info["act"] in GROUP_ACTS:
            return await self._regroup(request, case, actor, sent)
        act = _act(request)
        if act in _NEED_TEXT and not sent.text:
            raise problem(422, f"{act!r} needs a text.", cure=_NEED_TEXT[act])
        try:
            text, detail = checked(act, sent.text), await self._detail(act, actor, sent)
            more = await self._more(request, case, actor) if act == "see_more" else None
            changed = await self.works.act(
                self.tenant, case.interaction_id, act, actor, text, detail
            )
        except ActRefused as error:
            raise problem(409, str(error)) from error
        # A reply to a joined case is one to the case that it joined.
        now = await self.cases.get(self.tenant, case.interaction_id)
        history = await self._history(request, now or changed)
        return json_reply(history.model_copy(update={"earlier": more}))

    async def _regroup(
        self, request: web.Request, case: Case, actor: Actor, sent: admin_schemas.ActBody
    ) -> web.Response:
        """Join a case to another, or make it one of its own."""
        key = case.interaction_id
        try:
            if request.match_info["act"] == "join":
                lead = InteractionId(sent.to)
                changed = await self.cases.join(self.tenant, key, lead, actor)
            else:
                changed = await self.cases.split(self.tenant, key, actor)
        except ActRefused as error:
            raise problem(409, str(error)) from error
        except InteractionUnknown as error:
            raise problem(404, f"There is no escalation {sent.to[:64]!r}.") from error
        return json_reply(await self._history(request, changed))

    async def _more(
        self, request: web.Request, case: Case, actor: Actor
    ) -> list[admin_schemas.EarlierQuestion]:
        """Return what the asker agreed to show, as far as the caller may read it."""
        reader = await principals_of(request, self.tenant)
        shown = await self.works.more(self.tenant, case.interaction_id, actor, reader)
        return [admin_schemas.EarlierQuestion(**asdict(each)) for each in shown]

    async def _detail(self, act: Act, actor: Actor, sent: admin_schemas.ActBody) -> ActDetail:
        """Return what an act names besides its text. Raises ActRefused.

        An asker learns nothing of who is an expert; that they may not assign is said by the case.
        """
        if act == "assign" and actor.role == "expert":
            return ActDetail(await expert_named(self.cases, self.tenant, sent.to))
        return ActDetail(about=sent.about) if act in _ABOUT_A_STEP else NO_DETAIL

    async def usage_sums(self, request: web.Request) -> web.Response:
        """Return sums of model calls over a span of at most 400 days."""
        require_role(request, "expert")
        asked = query_of(request, admin_schemas.UsageSearch)
        until = asked.until or datetime.now(UTC)
        since = asked.since or until - min(_DEFAULT_SPAN, until - datetime.min.replace(tzinfo=UTC))
        if not timedelta(0) <= until - since <= _MAX_SPAN:
            raise problem(
                422,
                f"From {since.isoformat()} to {until.isoformat()} can't be summed up.",
                cure=f"Send a span of at most {_MAX_SPAN.days} days that ends after it begins.",
            )
        sums = await self.usage.sums(Span(since, until), asked.by, self.tenant)
        told = [admin_schemas.UsageOf(**asdict(each)) for each in sums]
        return json_reply(admin_schemas.Usage(by=asked.by, since=since, until=until, sums=told))

    async def _after(self, cursor: str | None) -> Case | None:
        place = _position(cursor)
        if place is None:
            return None
        case = await self.cases.get(self.tenant, InteractionId(place.key[0]))
        if case is None:
            raise problem(422, "The place in the list is gone.", cure="Begin without a cursor.")
        return case

    async def _visible(self, request: web.Request) -> Case:
        """Return the case of the path; one that the caller may not see is a 404, too."""
        wanted = request.match_info["id"]
        case = await self.cases.get(self.tenant, InteractionId(wanted))
        if case is None or not (role_of(request) != "asker" or await self._own(request, case)):
            raise problem(404, f"There is no escalation {wanted[:64]!r} of yours.")
        return case

    async def _own(self, request: web.Request, case: Case) -> bool:
        interaction = await self.interactions.get(case.interaction_id)
        return interaction is not None and identities_of(request).may_see(request, interaction)

    async def _history(self, request: web.Request, case: Case) -> admin_schemas.EscalationHistory:
        """Return a case with its history, of which an asker sees what is theirs to read."""
        stored = await self.cases.steps(self.tenant, case.interaction_id)
        steps = for_asker(stored) if role_of(request) == "asker" else as_corrected(stored)
        history = [
            admin_schemas.EscalationStep(
                number=each.number,
                step=each.step,
                by_id=each.actor and each.actor.id,
                by_name=each.actor and each.actor.name,
                by_role=each.actor and each.actor.role,
                text=each.text,
                at=each.at,
                to_id=each.detail.to.id if each.detail.to else None,
                to_name=each.detail.to.name if each.detail.to else None,
                about=each.detail.about or None,
                in_thread=each.detail.in_thread,
            )
            for each in steps
        ]
        told = replace(case, joined_to=None, askers=1) if role_of(request) == "asker" else case
        return admin_schemas.EscalationHistory(**_case(told), history=history)


def _cursor(place: Cursor | None) -> str | None:
    return None if place is None else encode_cursor(place)


def _position(cursor: str | None, *, numbered: bool = False) -> Cursor | None:
    """Decode a cursor; None is the first page. Raises Problem (422)."""
    place = None if cursor is None else decode_cursor(cursor, parts=1, numbered=numbered)
    if cursor is not None and place is None:
        cure = "Send the `next` of the page before, as it came."
        raise invalid_field("cursor", cursor, "is no place in this list", cure)
    return place


_NEED_TEXT: Mapping[Act, str] = {
    "reply": "Send what the asker is to read.",
    "amend": "Send what the asker is to read.",
    "decline": "Send what the asker is to read.",
    "assign": "Send why, which only those who answer read.",
    "note": "Send what others who answer should know.",
}
"""Acts that need a text, and the cure without one."""


_ABOUT_A_STEP: frozenset[Act] = CONSENTS.union({"amend", "retract"})
"""Acts that name a step of the history."""


def _act(request: web.Request) -> Act:
    wanted = request.match_info["act"]
    acts: tuple[Act, ...] = get_args(Act)
    for act in acts:
        if act == wanted:
            return act
    raise problem(
        404,
        f"There is no act {wanted[:64]!r}.",
        cure=f"Known are {', '.join((*acts, *GROUP_ACTS))}.",
    )


def _actor(request: web.Request, person: Person, name: str | None) -> Actor:
    if role_of(request) == "asker":
        return Actor(person.id, person.name, "asker")
    signed_in = signed_in_of(request)
    if name and signed_in is not None and signed_in.person == person:
        raise problem(
            403,
            f"The name {name!r} is not believed here.",
            cure="Leave `name` out: you are signed in, and act under your own name.",
        )
    return actor_of(person, "expert", name=name or person.name or _ANONYMOUS_NAME)


def _question(each: AskedQuestion) -> dict[str, Any]:
    return {
        "interaction_id": each.id,
        "asked_at": each.asked_at,
        "question": each.text,
        "person_id": each.person_id,
        "person_name": each.person_name,
        "platform": each.channel.partition(":")[0],
        "channel": each.channel,
        "private": each.private,
        "status": each.status,
        "answer_type": each.answer_type,
        "intent": each.intent,
        "confidence": each.confidence,
        "ups": each.ups,
        "downs": each.downs,
        "escalation": each.case,
    }


def _case(case: Case) -> dict[str, object]:
    status = case.status
    return {
        "interaction_id": case.interaction_id,
        "state": status.state,
        "owner_id": status.owner_id or None,
        "owner_name": status.owner_name or None,
        "reason": case.reason,
        "question": case.question,
        "asker_id": case.asker_id,
        "asker_name": case.asker_name,
        "platform": case.channel.partition(":")[0],
        "channel": case.channel,
        "private": case.private,
        "opened_at": case.opened_at,
        "changed_at": case.changed_at,
        "reminders": case.pings,
        "joined_to": case.joined_to,
        "askers": case.askers,
    }

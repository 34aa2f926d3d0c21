"""Statements about cases, their steps, notices and events, and the values in their rows."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, TypeAlias, get_args

from sqlalchemy import (
    ColumnElement,
    Insert,
    Row,
    Select,
    Update,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.orm import InstrumentedAttribute, aliased

from bot.domain.cases import (
    ActDetail,
    Actor,
    Case,
    CaseQuery,
    CaseStatus,
    CaseStep,
)
from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId, Outsider, Thread
from bot.domain.personal_data import PSEUDONYM
from bot.escalations import lifecycle
from bot.store import queries
from bot.store.learning_tables import WebhookEventRow
from bot.store.tables import EscalationRow, EscalationStepRow, InteractionRow, NoticeRow

MOST_EXPERTS = 200

SelectCases: TypeAlias = Select[EscalationRow, str, str, int]
CaseRow: TypeAlias = Row[EscalationRow, str, str, int]


def select_case(tenant: str, case_id: str) -> SelectCases:
    """Return the query for one case."""
    return _select_all_cases(tenant).where(EscalationRow.interaction_id == case_id)


def select_cases(tenant: str, query: CaseQuery, limit: int, after: Case | None) -> SelectCases:
    """Return the query for the cases that match ``query``, in its order, after ``after``."""
    key = (EscalationRow.opened_at, EscalationRow.interaction_id)
    order = [column.desc() for column in key] if query.newest_first else key
    statement = _select_all_cases(tenant).order_by(*order).limit(limit)
    if query.states:
        statement = statement.where(EscalationRow.state.in_(sorted(query.states)))
    if query.owner_id:
        statement = statement.where(EscalationRow.owner == storable(query.owner_id))
    if query.asker_id:
        statement = statement.where(EscalationRow.asker == storable(query.asker_id))
    if query.joined_to:
        statement = statement.where(EscalationRow.joined_to == storable(query.joined_to))
    if query.leading:
        statement = statement.where(EscalationRow.joined_to.is_(None))
    for word in storable(query.words).split()[: queries.MOST_WORDS]:
        statement = statement.where(EscalationRow.question.icontains(word, autoescape=True))
    if after is None:
        return statement
    place = (after.opened_at, after.interaction_id)
    beyond = tuple_(*key) < place if query.newest_first else tuple_(*key) > place
    return statement.where(beyond)


def select_open_in(thread: Thread) -> SelectCases:
    """Return the query for the cases of a thread that are not settled, newest first."""
    return (
        _select_all_cases(thread.tenant)
        .where(
            InteractionRow.tenant == thread.tenant,
            InteractionRow.thread == thread.key,
            EscalationRow.state.in_(sorted(lifecycle.UNSETTLED)),
        )
        .order_by(InteractionRow.number.desc())
    )


def select_experts(tenant: str) -> tuple[Select[str, str], Select[str, str]]:
    """Return the queries for the ids and names of those who acted on cases, or were given one.

    Who was forgotten can get no case.
    """
    row = EscalationStepRow
    acted = select(row.actor, func.max(row.actor_name)).where(row.actor_role == "expert")
    given = select(row.assignee, func.max(row.assignee_name))
    return (
        acted.where(row.tenant == tenant, *_is_somebody(row.actor))
        .group_by(row.actor)
        .limit(MOST_EXPERTS),
        given.where(row.tenant == tenant, *_is_somebody(row.assignee))
        .group_by(row.assignee)
        .limit(MOST_EXPERTS),
    )


def _is_somebody(person: InstrumentedAttribute[str]) -> tuple[ColumnElement[bool], ...]:
    return person != "", ~person.startswith(PSEUDONYM, autoescape=True)


def select_steps(tenant: str, case_id: str) -> Select[EscalationStepRow]:
    """Return the query for the history of a case, oldest first."""
    row = EscalationStepRow
    return (
        select(row)
        .where(row.tenant == tenant, row.interaction_id == storable(case_id))
        .order_by(row.number)
    )


def select_next_step_number(case_id: str) -> Select[int]:
    """Return the query for the next step number of a case, which must be locked."""
    row = EscalationStepRow
    return select(func.coalesce(func.max(row.number), 0) + 1).where(row.interaction_id == case_id)


def update_case(case: Case) -> Update:
    """Return the statement that writes the changeable columns of a case."""
    row = EscalationRow
    return (
        update(row)
        .where(row.interaction_id == case.interaction_id)
        .values(
            state=case.status.state,
            owner=case.status.owner_id or None,
            owner_name=case.status.owner_name,
            changed_at=case.changed_at,
            due_at=case.due_at,
            pings=case.pings,
            version=case.version,
            level=case.level,
            joined_to=case.joined_to,
        )
    )


def insert_step(tenant: str, taken: CaseStep) -> Insert:
    """Return the statement that appends a step to the history."""
    actor, detail = taken.actor, taken.detail
    return insert(EscalationStepRow).values(
        interaction_id=taken.interaction_id,
        number=taken.number,
        tenant=tenant,
        step=taken.step,
        actor="" if actor is None else actor.id,
        actor_name="" if actor is None else actor.name,
        actor_role="" if actor is None else actor.role,
        text=taken.text,
        at=taken.at,
        assignee=detail.to.id if detail.to else "",
        assignee_name=detail.to.name if detail.to else "",
        about=detail.about,
        in_thread=detail.in_thread,
    )


def insert_notice(case: Case, number: int, to: str, at: datetime) -> Insert:
    """Return the statement that queues a notice about a step, due at ``at``."""
    return insert(NoticeRow).values(
        interaction_id=case.interaction_id, number=number, to=to, tenant=case.tenant, due_at=at
    )


def insert_webhook_event(case: Case, number: int, at: datetime) -> Insert:
    """Return the statement that queues a step for the webhook, with the case as it is after it."""
    return insert(WebhookEventRow).values(
        interaction_id=case.interaction_id,
        number=number,
        tenant=case.tenant,
        state=case.status.state,
        owner_name=case.status.owner_name,
        at=at,
        queued_at=at,
        due_at=at,
    )


def settle_notices_to_people(case_id: str) -> Update:
    """Return the statement that settles pending notices to the experts: the next replaces them.

    Notices that a process is posting right now are left, so that the next is posted after them.
    """
    row = NoticeRow
    return (
        update(row)
        .where(
            row.interaction_id == case_id,
            row.to == "people",
            row.due_at.is_not(None),
            row.owner.is_(None),
        )
        .values(due_at=None, held_until=None)
    )


def case_of(row: CaseRow) -> Case:
    """Return the case in a row."""
    return Case(
        interaction_id=InteractionId(row.interaction_id),
        tenant=row.tenant,
        status=CaseStatus(row.state, row.owner or "", row.owner_name),
        reason=row.reason,
        question=row.question,
        asker_id=row.asker,
        asker_name=row.asker_name,
        channel=row.channel,
        private=row.private,
        opened_at=row.opened_at,
        changed_at=row.changed_at,
        due_at=row.due_at,
        pings=row.pings,
        version=row.version,
        level=row.level,
        outsider=_outsider_of(row.message),
        joined_to=InteractionId(row.joined_to) if row.joined_to else None,
        join_scope=row.join_scope,
        askers=1 + row.others,
    )


def step_of(row: Row[EscalationStepRow]) -> CaseStep:
    """Return the history step in a row."""
    return CaseStep(
        interaction_id=InteractionId(row.interaction_id),
        number=row.number,
        step=row.step,
        actor=actor_of(row),
        text=row.text,
        at=row.at,
        detail=detail_of(row),
    )


def detail_of(row: Row[Any]) -> ActDetail:
    """Return what a step's row names besides its text."""
    to = Actor(row.assignee, row.assignee_name, "expert") if row.assignee else None
    return ActDetail(to, row.about, in_thread=row.in_thread)


def actor_of(row: Row[Any]) -> Actor | None:
    """Return the actor in a row; None for an automatic step, or one from before histories."""
    return Actor(row.actor, row.actor_name, row.actor_role) if row.actor else None


def storable_actor(actor: Actor) -> Actor:
    """Return an actor whose texts the database can store (bot.domain.json_codec.storable)."""
    also = frozenset(map(storable, actor.also))
    return Actor(storable(actor.id), storable(actor.name), actor.role, also)


def _outsider_of(message: str) -> Outsider:
    """Return the ``outsider`` mark of a stored message's author; "" for older messages."""
    said = json.loads(message)["value"]["author"].get("outsider", "")
    return next((each for each in get_args(Outsider) if each == said), "")


def _select_all_cases(tenant: str) -> SelectCases:
    return select_with_question().where(
        EscalationRow.tenant == tenant,
        # A withdrawn question's case is gone; that of a forgotten asker has experts' acts.
        or_(queries.not_withdrawn(), queries.has_acts(EscalationRow.interaction_id)),
    )


def select_with_question() -> SelectCases:
    """Return the query for all cases with what ``case_of`` needs of their questions."""
    row, joined = EscalationRow, aliased(EscalationRow)
    others = (
        select(func.count(joined.asker.distinct()))
        .where(joined.joined_to == row.interaction_id, joined.asker != row.asker)
        .correlate(row)
        .scalar_subquery()
    )
    return select(row, InteractionRow.channel, InteractionRow.message, others.label("others")).join(
        InteractionRow, InteractionRow.id == row.interaction_id
    )

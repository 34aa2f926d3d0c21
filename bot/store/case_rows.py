"""Cases and their histories as rows, and the statements that read and change them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import Insert, Row, Select, Update, func, insert, select, tuple_, update

from bot.domain.cases import Actor, Case, CaseQuery, CaseStatus, CaseStep
from bot.domain.json_codec import storable
from bot.domain.types import InteractionId, Outsider
from bot.store.tables import EscalationRow, EscalationStepRow, InteractionRow, NoticeRow

_MOST_WORDS = 8


def case(tenant: str, case_id: str) -> Select[EscalationRow, str, str]:
    """One case."""
    return _cases(tenant).where(EscalationRow.interaction_id == case_id)


def held(tenant: str, case_id: str) -> Select[EscalationRow, str, str]:
    """One case, kept from other writers until the transaction ends."""
    return case(tenant, case_id).with_for_update(of=EscalationRow)


def found(
    tenant: str, query: CaseQuery, limit: int, after: Case | None
) -> Select[EscalationRow, str, str]:
    """The cases that a query asks for, in its order."""
    key = (EscalationRow.opened_at, EscalationRow.interaction_id)
    order = [column.desc() for column in key] if query.newest_first else key
    statement = _cases(tenant).order_by(*order).limit(limit)
    if query.states:
        statement = statement.where(EscalationRow.state.in_(sorted(query.states)))
    if query.owner_id:
        statement = statement.where(EscalationRow.owner == storable(query.owner_id))
    for word in storable(query.words).split()[:_MOST_WORDS]:
        statement = statement.where(EscalationRow.question.icontains(word, autoescape=True))
    if after is None:
        return statement
    place = (after.opened_at, after.interaction_id)
    beyond = tuple_(*key) < place if query.newest_first else tuple_(*key) > place
    return statement.where(beyond)


def steps(tenant: str, case_id: str) -> Select[EscalationStepRow]:
    """The history of a case, oldest first."""
    row = EscalationStepRow
    return (
        select(row).where(row.tenant == tenant, row.interaction_id == case_id).order_by(row.number)
    )


def last(case_id: str, step: str) -> Select[str, str]:
    """Who took a step last, and with which words."""
    row = EscalationStepRow
    return (
        select(row.actor, row.text)
        .where(row.interaction_id == case_id, row.step == step)
        .order_by(row.number.desc())
        .limit(1)
    )


def next_step(case_id: str) -> Select[int]:
    """The number that comes after the last entry of a history; the case must be held."""
    row = EscalationStepRow
    return select(func.coalesce(func.max(row.number), 0) + 1).where(row.interaction_id == case_id)


def changed(case: Case) -> Update:
    """Bring a row to how a case stands now."""
    row = EscalationRow
    return (
        update(row)
        .where(row.interaction_id == case.interaction_id)
        .values(
            state=case.standing.state,
            owner=case.standing.owner_id or None,
            owner_name=case.standing.owner_name,
            changed_at=case.changed_at,
            due_at=case.due_at,
            pings=case.pings,
            version=case.version,
        )
    )


def step_taken(tenant: str, taken: CaseStep) -> Insert:
    """Add to the history."""
    actor = taken.actor
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
    )


def to_tell(case: Case, number: int, to: str, at: datetime) -> Insert:
    """Note that somebody is to be told of a step."""
    return insert(NoticeRow).values(
        interaction_id=case.interaction_id, number=number, to=to, tenant=case.tenant, due_at=at
    )


def overtaken(case_id: str) -> Update:
    """Settle what people were still to be told: what comes next shows how the case stands then.

    What a process is telling just now stays its own, so that the next comes after it.
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


def case_of(row: Row[EscalationRow, str, str]) -> Case:
    """Read a case."""
    return Case(
        interaction_id=InteractionId(row.interaction_id),
        tenant=row.tenant,
        standing=CaseStatus(row.state, row.owner or "", row.owner_name),
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
        outsider=_outsider(row.message),
    )


def step_of(row: Row[EscalationStepRow]) -> CaseStep:
    """Read an entry of a history."""
    return CaseStep(
        interaction_id=InteractionId(row.interaction_id),
        number=row.number,
        step=row.step,
        actor=actor_of(row),
        text=row.text,
        at=row.at,
    )


def actor_of(row: Row[Any]) -> Actor | None:
    """Read who did a step; None for one that nobody did, or that is older than histories."""
    return Actor(row.actor, row.actor_name, row.actor_role) if row.actor else None


def storable_actor(actor: Actor) -> Actor:
    """Return an actor as the record can hold them."""
    also = frozenset(map(storable, actor.also))
    return Actor(storable(actor.id), storable(actor.name), actor.role, also)


def _outsider(message: str) -> Outsider:
    """Return what a kept message says of its author; older ones say nothing."""
    said = json.loads(message)["value"]["author"].get("outsider", "")
    return next((each for each in get_args(Outsider) if each == said), "")


def _cases(tenant: str) -> Select[EscalationRow, str, str]:
    return (
        select(EscalationRow, InteractionRow.channel, InteractionRow.message)
        .join(InteractionRow, InteractionRow.id == EscalationRow.interaction_id)
        .where(
            EscalationRow.tenant == tenant,
            InteractionRow.status.not_in(("cancelling", "cancelled")),
        )
    )

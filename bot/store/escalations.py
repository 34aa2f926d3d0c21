"""Store of escalations: the status of each case and the history of its steps."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import Insert, Row, Select, Update, func, insert, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.cases import Act, Actor, Case, CaseQuery, CaseStatus, CaseStep
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId, Outsider
from bot.escalations import lifecycle
from bot.escalations.lifecycle import ReminderSchedule
from bot.store import queries
from bot.store.connections import Transactions
from bot.store.key_values import insert_audit
from bot.store.learning_tables import WebhookEventRow
from bot.store.rows import utc_now
from bot.store.tables import EscalationRow, EscalationStepRow, InteractionRow, NoticeRow


def select_case(tenant: str, case_id: str) -> Select[EscalationRow, str, str]:
    """Return the query for one case."""
    return _select_all_cases(tenant).where(EscalationRow.interaction_id == case_id)


def select_cases(
    tenant: str, query: CaseQuery, limit: int, after: Case | None
) -> Select[EscalationRow, str, str]:
    """Return the query for the cases that match ``query``, in its order, after ``after``."""
    key = (EscalationRow.opened_at, EscalationRow.interaction_id)
    order = [column.desc() for column in key] if query.newest_first else key
    statement = _select_all_cases(tenant).order_by(*order).limit(limit)
    if query.states:
        statement = statement.where(EscalationRow.state.in_(sorted(query.states)))
    if query.owner_id:
        statement = statement.where(EscalationRow.owner == storable(query.owner_id))
    for word in storable(query.words).split()[: queries.MOST_WORDS]:
        statement = statement.where(EscalationRow.question.icontains(word, autoescape=True))
    if after is None:
        return statement
    place = (after.opened_at, after.interaction_id)
    beyond = tuple_(*key) < place if query.newest_first else tuple_(*key) > place
    return statement.where(beyond)


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
        )
    )


def insert_step(tenant: str, taken: CaseStep) -> Insert:
    """Return the statement that appends a step to the history."""
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


def case_of(row: Row[EscalationRow, str, str]) -> Case:
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
        outsider=_outsider_of(row.message),
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
    )


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


def _select_all_cases(tenant: str) -> Select[EscalationRow, str, str]:
    return (
        select(EscalationRow, InteractionRow.channel, InteractionRow.message)
        .join(InteractionRow, InteractionRow.id == EscalationRow.interaction_id)
        .where(
            EscalationRow.tenant == tenant,
            # A withdrawn question's case is gone; that of a forgotten asker has experts' acts.
            or_(queries.not_withdrawn(), queries.has_acts(EscalationRow.interaction_id)),
        )
    )


@dataclass(frozen=True, slots=True)
class ActTaken:
    """An act on a case: its actor, the text sent with it, and whether the actor is the asker."""

    act: Act
    actor: Actor
    text: str
    is_asker: bool


class StoredEscalations:
    """Stores cases and applies acts to them.

    Implements `bot.escalations.ports.Cases` and `bot.learning.question_words.CaseWorkers`. Cases
    are opened by StoredWork when an outcome is recorded.
    """

    def __init__(
        self, transactions: Transactions, reminders: ReminderSchedule | None = None
    ) -> None:
        self._transactions = transactions
        self._reminders = reminders or ReminderSchedule()

    async def act(
        self, tenant: str, case_id: InteractionId, act: Act, actor: Actor, text: str = ""
    ) -> Case:
        who = storable_actor(actor)
        async with self._transactions.writing() as connection:
            case = await _lock_case(connection, tenant, case_id)
            is_asker = who.has(case.asker_id)
            then = lifecycle.after(case.status, act, who, is_asker=is_asker)
            taken = ActTaken(act, who, storable(text), is_asker=is_asker)
            if not lifecycle.is_change(act, case.status, then):
                await _refuse_unsent_words(connection, case, taken)
                return case
            case = self._changed(case, then)
            await connection.execute(update_case(case))
            await _record_act(connection, case, taken)
            return case

    async def get(self, tenant: str, case_id: InteractionId) -> Case | None:
        row = await self._transactions.first(select_case(tenant, storable(case_id)))
        return None if row is None else case_of(row)

    async def find(
        self, tenant: str, query: CaseQuery, *, limit: int, after: Case | None = None
    ) -> Sequence[Case]:
        rows = await self._transactions.rows(select_cases(tenant, query, limit, after))
        return [case_of(row) for row in rows]

    async def steps(self, tenant: str, case_id: InteractionId) -> Sequence[CaseStep]:
        row = EscalationStepRow
        rows = await self._transactions.rows(
            select(row)
            .where(row.tenant == tenant, row.interaction_id == storable(case_id))
            .order_by(row.number)
        )
        return [step_of(row) for row in rows]

    async def workers(
        self, tenant: str, ids: Collection[InteractionId]
    ) -> Mapping[InteractionId, frozenset[str]]:
        """Return the ids of the experts who acted on each case; one without any is left out."""
        row = EscalationStepRow
        rows = await self._transactions.rows(
            select(row.interaction_id, row.actor)
            .where(row.tenant == tenant, row.interaction_id.in_(list(map(storable, ids))))
            .where(row.actor_role == "expert")
            .distinct()
        )
        found: dict[InteractionId, frozenset[str]] = {}
        for case_id, actor in rows:
            key = InteractionId(case_id)
            found[key] = found.get(key, frozenset()) | {actor}
        return found

    def _changed(self, case: Case, then: CaseStatus) -> Case:
        now = utc_now()
        waits = then.state in lifecycle.WAITING
        return replace(
            case,
            status=then,
            changed_at=now,
            due_at=self._reminders.due(now) if waits else None,
            pings=0 if waits else case.pings,
            version=case.version + 1,
        )


async def _lock_case(connection: AsyncConnection, tenant: str, case_id: str) -> Case:
    """Lock a case until the transaction ends, and return it. Raises InteractionUnknown."""
    key = storable(case_id)
    # Interaction first, then case: retention and withdrawal lock in the same order, and skip or
    # wait for locked rows.
    await connection.execute(*queries.select_interaction_for_update(key))
    query = select_case(tenant, key).where(queries.not_withdrawn())
    query = query.with_for_update(of=EscalationRow)
    row = (await connection.execute(query)).first()
    if row is None:
        raise InteractionUnknown(
            f"There is no escalation {case_id!r}. Use an id from `python -m bot escalations --all`."
        )
    return case_of(row)


async def _refuse_unsent_words(connection: AsyncConnection, case: Case, taken: ActTaken) -> None:
    """Raise ActRefused if text came with an act that changed nothing, as it was not sent.

    A repetition of the last act with the same text is accepted.
    """
    if not taken.text:
        return
    row = EscalationStepRow
    query = (
        select(row.actor, row.text)
        .where(row.interaction_id == case.interaction_id, row.step == taken.act)
        .order_by(row.number.desc())
        .limit(1)
    )
    last = (await connection.execute(query)).first()
    if last is None or (last.actor, last.text) != (taken.actor.id, taken.text):
        raise ActRefused(
            f"It is {case.status.state} already, so what you wrote was not sent. Look at how it "
            "stands now."
        )


async def _record_act(connection: AsyncConnection, case: Case, taken: ActTaken) -> None:
    """Insert the history step, its notices and event and, for an expert, the audit row."""
    key = case.interaction_id
    number = await connection.scalar(select_next_step_number(key)) or 1
    step = CaseStep(key, number, taken.act, taken.actor, taken.text, case.changed_at)
    await connection.execute(insert_step(case.tenant, step))
    await connection.execute(insert_webhook_event(case, number, case.changed_at))
    await connection.execute(settle_notices_to_people(key))
    for to in lifecycle.recipients_of(taken.act, is_asker=taken.is_asker):
        await connection.execute(insert_notice(case, number, to, case.changed_at))
    if taken.actor.role == "expert":
        await connection.execute(insert_audit(case.tenant, taken.actor.id, taken.act, key))

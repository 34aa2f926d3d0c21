"""The questions that went to people, over SQL tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.cases import Act, Actor, Case, CaseQuery, CaseStatus, CaseStep
from bot.domain.errors import ActRefused, InteractionUnknown
from bot.domain.json_codec import storable
from bot.domain.types import InteractionId
from bot.escalations import lifecycle
from bot.escalations.lifecycle import ReminderSchedule
from bot.store import case_rows, queries
from bot.store.audits import audited
from bot.store.rows import moment
from bot.store.transactions import Transactions


@dataclass(frozen=True, slots=True)
class Taken:
    """An act that changed a case: what, who, and what was said."""

    act: Act
    actor: Actor
    text: str
    is_asker: bool


class StoredEscalations:
    """Implements bot.escalations.ports.Cases; a case is opened when an outcome is recorded."""

    def __init__(
        self, transactions: Transactions, reminders: ReminderSchedule | None = None
    ) -> None:
        self._transactions = transactions
        self._reminders = reminders or ReminderSchedule()

    async def act(
        self, tenant: str, case_id: InteractionId, act: Act, actor: Actor, text: str = ""
    ) -> Case:
        who = case_rows.storable_actor(actor)
        async with self._transactions.writing() as connection:
            case = await _held(connection, tenant, case_id)
            is_asker = who.has(case.asker_id)
            then = lifecycle.after(case.standing, act, who, is_asker=is_asker)
            taken = Taken(act, who, storable(text), is_asker=is_asker)
            if not lifecycle.is_change(act, case.standing, then):
                await _refuse_new_words(connection, case, taken)
                return case
            case = self._changed(case, then)
            await connection.execute(case_rows.changed(case))
            await _note(connection, case, taken)
            return case

    async def get(self, tenant: str, case_id: InteractionId) -> Case | None:
        statement = case_rows.case(tenant, storable(case_id))
        async with self._transactions.reading() as connection:
            row = (await connection.execute(statement)).first()
        return None if row is None else case_rows.case_of(row)

    async def find(
        self, tenant: str, query: CaseQuery, *, limit: int, after: Case | None = None
    ) -> Sequence[Case]:
        statement = case_rows.found(tenant, query, limit, after)
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return [case_rows.case_of(row) for row in rows]

    async def steps(self, tenant: str, case_id: InteractionId) -> Sequence[CaseStep]:
        statement = case_rows.steps(tenant, storable(case_id))
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(statement)).all()
        return [case_rows.step_of(row) for row in rows]

    def _changed(self, case: Case, then: CaseStatus) -> Case:
        now = moment()
        waits = then.state in lifecycle.WAITING
        return replace(
            case,
            standing=then,
            changed_at=now,
            due_at=self._reminders.due(now) if waits else None,
            pings=0 if waits else case.pings,
            version=case.version + 1,
        )


async def _held(connection: AsyncConnection, tenant: str, case_id: str) -> Case:
    """Return a case that nobody else changes meanwhile. Raises InteractionUnknown."""
    key = storable(case_id)
    # Retention and withdrawal leave alone what is held, and take their locks in the same order.
    await connection.execute(queries.held(key))
    row = (await connection.execute(case_rows.held(tenant, key))).first()
    if row is None:
        raise InteractionUnknown(
            f"There is no escalation {case_id!r}. Use an id from `python -m bot escalations --all`."
        )
    return case_rows.case_of(row)


async def _refuse_new_words(connection: AsyncConnection, case: Case, taken: Taken) -> None:
    """Let nobody believe that words were sent with an act that changed nothing."""
    if not taken.text:
        return
    last = (await connection.execute(case_rows.last(case.interaction_id, taken.act))).first()
    if last is None or (last.actor, last.text) != (taken.actor.id, taken.text):
        raise ActRefused(
            f"It is {case.standing.state} already, so what you wrote was not sent. Look at how it "
            "stands now."
        )


async def _note(connection: AsyncConnection, case: Case, taken: Taken) -> None:
    """Keep the history, who is to be told, and what an expert did."""
    key = case.interaction_id
    number = await connection.scalar(case_rows.next_step(key)) or 1
    step = CaseStep(key, number, taken.act, taken.actor, taken.text, case.changed_at)
    await connection.execute(case_rows.step_taken(case.tenant, step))
    await connection.execute(case_rows.overtaken(key))
    for to in lifecycle.recipients_of(taken.act, is_asker=taken.is_asker):
        await connection.execute(case_rows.to_tell(case, number, to, case.changed_at))
    if taken.actor.role == "expert":
        await connection.execute(audited(case.tenant, taken.actor.id, taken.act, key))

"""Store of escalations: the status of each case and the history of its steps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.cases import (
    NO_DETAIL,
    Act,
    ActDetail,
    Actor,
    Case,
    CaseQuery,
    CaseStatus,
    CaseStep,
)
from bot.domain.errors import InteractionUnknown
from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId, Thread
from bot.escalations import lifecycle
from bot.escalations.lifecycle import ReminderSchedule
from bot.store import queries
from bot.store.case_acts import (
    ActTaken,
    changes_request,
    record_act,
    refuse_asker,
    refuse_unsent_words,
    status_after_correction,
)
from bot.store.case_rows import (
    MOST_EXPERTS,
    case_of,
    select_case,
    select_cases,
    select_experts,
    select_open_in,
    select_steps,
    step_of,
    storable_actor,
    update_case,
)
from bot.store.connections import Transactions
from bot.store.rows import utc_now
from bot.store.tables import EscalationRow, EscalationStepRow


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
        self,
        tenant: str,
        case_id: InteractionId,
        act: Act,
        actor: Actor,
        text: str = "",
        detail: ActDetail = NO_DETAIL,
    ) -> Case:
        who, to = storable_actor(actor), detail.to and storable_actor(detail.to)
        async with self._transactions.writing() as connection:
            case = await _lock_case(connection, tenant, case_id)
            is_asker = who.has(case.asker_id)
            refuse_asker(case, to)
            then = lifecycle.after(case.status, act, who, is_asker=is_asker, to=to)
            taken = ActTaken(act, who, storable(text), replace(detail, to=to), is_asker)
            if not lifecycle.is_change(act, case.status, then):
                await refuse_unsent_words(connection, case, taken)
                return case
            corrected = await status_after_correction(connection, case, taken, then)
            if corrected is None or not await changes_request(connection, case, taken):
                return case
            now = utc_now()
            case = self._changed(case, act, corrected, now)
            await connection.execute(update_case(case))
            await record_act(connection, case, taken, now)
            return case

    async def experts(self, tenant: str) -> Sequence[Actor]:
        named: dict[str, str] = {}
        for query in select_experts(tenant):
            for person, name in await self._transactions.rows(query):
                named[person] = named.get(person) or name
        found = (Actor(person, name, "expert") for person, name in named.items())
        return sorted(found, key=lambda each: each.name.casefold())[:MOST_EXPERTS]

    async def open_in(self, thread: Thread) -> Sequence[Case]:
        return [case_of(row) for row in await self._transactions.rows(select_open_in(thread))]

    async def get(self, tenant: str, case_id: InteractionId) -> Case | None:
        row = await self._transactions.first(select_case(tenant, storable(case_id)))
        return None if row is None else case_of(row)

    async def find(
        self, tenant: str, query: CaseQuery, *, limit: int, after: Case | None = None
    ) -> Sequence[Case]:
        rows = await self._transactions.rows(select_cases(tenant, query, limit, after))
        return [case_of(row) for row in rows]

    async def steps(self, tenant: str, case_id: InteractionId) -> Sequence[CaseStep]:
        rows = await self._transactions.rows(select_steps(tenant, case_id))
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

    def _changed(self, case: Case, act: Act, then: CaseStatus, now: datetime) -> Case:
        if act != "reply" and then == case.status:
            # Nobody has it who did not before, so the reminders go on as they were.
            return replace(case, version=case.version + 1)
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

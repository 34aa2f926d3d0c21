"""Store of escalations: the status of each case and the history of its steps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

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
from bot.escalations.shared_words import in_their_place
from bot.store.case_acts import (
    ActTaken,
    changes_request,
    record_act,
    refuse_asker,
    refuse_unsent_words,
    status_after_correction,
)
from bot.store.case_locks import lock_cases, lock_with_lead
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
from bot.store.joined_cases import (
    are_all_among,
    counterpart_in,
    follow,
    join_by_hand,
    leave_group,
    note_on_lead,
    record_step,
    split_off,
)
from bot.store.key_values import insert_audit
from bot.store.rows import utc_now
from bot.store.tables import EscalationStepRow


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
        to = detail.to and storable_actor(detail.to)
        change = partial(
            self._act,
            tenant=tenant,
            case_id=case_id,
            act=act,
            who=storable_actor(actor),
            text=text,
            detail=replace(detail, to=to),
        )
        return await self._transactions.apply(change)

    async def join(
        self,
        tenant: str,
        case_id: InteractionId,
        lead_id: InteractionId,
        actor: Actor,
        shared_with: frozenset[InteractionId] = frozenset(),
    ) -> Case:
        who = storable_actor(actor)
        lifecycle.check_grouping(who)

        async def join(connection: AsyncConnection) -> Case:
            found = await lock_cases(connection, tenant, case_id, lead_id)
            case, lead = _known(found.get(case_id), case_id), _known(found.get(lead_id), lead_id)
            lifecycle.check_join(case, lead, who)
            return await join_by_hand(connection, case, lead, who, shared_with)

        return await self._transactions.apply(join)

    async def split(self, tenant: str, case_id: InteractionId, actor: Actor) -> Case:
        who = storable_actor(actor)
        lifecycle.check_grouping(who)
        change = partial(self._split, tenant=tenant, case_id=case_id, who=who)
        return await self._transactions.apply(change)

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

    async def _act(
        self,
        connection: AsyncConnection,
        *,
        tenant: str,
        case_id: InteractionId,
        act: Act,
        who: Actor,
        text: str,
        detail: ActDetail,
    ) -> Case:
        asked, lead = await lock_with_lead(connection, tenant, case_id)
        case = asked = _known(asked, case_id)
        shared = await _is_for_all(connection, lead or asked, act, text, detail)
        leaves = _leaves(act, who, asked, apart=not shared)
        alone = leaves or act in lifecycle.MORE_ACTS
        if lead is not None and who.role == "expert" and not alone:
            # Whoever answers one of the same question answers all.
            about = await counterpart_in(connection, asked, detail.about, lead)
            case, detail = lead, replace(detail, about=about)
        is_asker = who.has(case.asker_id)
        refuse_asker(case, detail.to)
        then = lifecycle.after(case.status, act, who, is_asker=is_asker, to=detail.to)
        taken = ActTaken(act, who, storable(text), detail, is_asker)
        if not lifecycle.is_change(act, case.status, then):
            await refuse_unsent_words(connection, case, taken)
            return case
        corrected = await status_after_correction(connection, case, taken, then)
        if corrected is None or not await changes_request(connection, case, taken):
            return case
        now = utc_now()
        if leaves:
            case = await leave_group(connection, case, lead, self._reminders, now)
        case = self._changed(case, act, corrected, now)
        await connection.execute(update_case(case))
        others = taken if shared else replace(taken, text=in_their_place(act))
        await record_act(connection, case, _read_in(case, asked, taken, others), now)
        if not leaves:
            await follow(connection, case, taken, others, now, asked.interaction_id)
        return case

    async def _split(
        self, connection: AsyncConnection, *, tenant: str, case_id: InteractionId, who: Actor
    ) -> Case:
        found, lead = await lock_with_lead(connection, tenant, case_id)
        case = _known(found, case_id)
        lifecycle.check_split(case)
        now = utc_now()
        alone = split_off(case, self._reminders, now)
        await connection.execute(update_case(alone))
        await record_step(connection, alone, "split", now, who)
        await connection.execute(insert_audit(tenant, who.id, "split", case.interaction_id))
        if lead is not None:
            await note_on_lead(connection, lead, "left", now)
        return alone

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


def _known(case: Case | None, case_id: InteractionId) -> Case:
    """Return a locked case. Raises InteractionUnknown for none."""
    if case is None:
        raise InteractionUnknown(
            f"There is no escalation {case_id!r}. Use an id from `python -m bot escalations --all`."
        )
    return case


async def _is_for_all(
    connection: AsyncConnection, lead: Case, act: Act, text: str, detail: ActDetail
) -> bool:
    """Return whether what was written with an act may go to all cases of one question."""
    if not text or act in lifecycle.AMONG_EXPERTS:
        return True
    return await are_all_among(connection, lead, detail.shared_with)


def _leaves(act: Act, who: Actor, asked: Case, *, apart: bool) -> bool:
    """Return whether a case is no longer one with others by an act: its asker's, or an answer.

    An answer whose words are for this asker alone (``apart``) leaves the others waiting.
    """
    if who.role == "expert" and apart and act in lifecycle.ANSWERING_ACTS:
        return True
    return act in lifecycle.LEAVING_ACTS and who.has(asked.asker_id)


def _read_in(case: Case, asked: Case, taken: ActTaken, others: ActTaken) -> ActTaken:
    """Return an act as the asker of a case reads it: as it is if it was done to this case.

    Others had not read it in their own thread.
    """
    if case.interaction_id == asked.interaction_id:
        return taken
    return replace(others, detail=replace(others.detail, in_thread=False))

"""Outbox of notices about escalations, and reminders about unclaimed ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, Update, and_, exists, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.orm import aliased

from bot.domain.cases import SECOND_LEVEL, Case, CaseStep, Notice, Step
from bot.domain.interactions import PostedRef
from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId
from bot.escalations.lifecycle import WAITING, ReminderSchedule
from bot.store import case_rows
from bot.store.connections import Transactions
from bot.store.rows import posted_ref_of
from bot.store.tables import EscalationRow, EscalationStepRow, InteractionRow, NoticeRow

CLAIM_DURATION = timedelta(minutes=1)
"""How long a claim on a notice is valid; then its process is presumed dead."""

REMINDERS_PER_ROUND = 100
"""Cases per transaction of reminders, so that other writers don't wait long."""


class StoredNotices:
    """Queues notices for delivery. Implements `bot.escalations.ports.Outbox`.

    Notices of one case to the same recipient are posted in order: none is due before the earlier
    ones are settled. ``attempts`` is counted when a notice is claimed, so that after a crash it
    is clear that the notice may have been posted; it also identifies the claim.
    """

    def __init__(
        self, transactions: Transactions, reminders: ReminderSchedule | None = None
    ) -> None:
        self._transactions = transactions
        self._reminders = reminders or ReminderSchedule()

    async def due(self, owner: str, now: datetime, limit: int) -> Sequence[Notice]:
        # Nothing is due most of the time; this check takes no lock.
        if await self._transactions.first(select_due(now).limit(1)) is None:
            return []
        async with self._transactions.writing() as connection:
            statement = select_due(now).limit(limit).with_for_update(of=NoticeRow, skip_locked=True)
            rows = (await connection.execute(statement)).all()
            for row in rows:
                claimed = _update_notice(row).values(
                    owner=owner, held_until=now + CLAIM_DURATION, attempts=row.attempts + 1
                )
                await connection.execute(claimed)
        return [_notice_of(row) for row in rows]

    async def sent(self, notice: Notice, ref: PostedRef | None) -> None:
        told = _update_notice(notice).values(due_at=None, owner=None, held_until=None, failure="")
        if ref is not None:
            told = told.values(posted_channel=storable(ref.channel), posted_id=storable(ref.id))
        await self._transactions.execute(told)

    async def later(self, notice: Notice, at: datetime) -> None:
        await self._transactions.execute(
            _update_claimed_notice(notice).values(due_at=at, owner=None, held_until=None)
        )

    async def failed(self, notice: Notice, why: str) -> None:
        given_up = {"due_at": None, "owner": None, "held_until": None, "failure": storable(why)}
        await self._transactions.execute(_update_claimed_notice(notice).values(**given_up))

    async def posted(self, case_id: InteractionId, number: int) -> PostedRef | None:
        row = NoticeRow
        found = await self._transactions.first(
            select(row.posted_channel, row.posted_id).where(
                row.interaction_id == case_id, row.number == number, row.to == "asker"
            )
        )
        return posted_ref_of(found.posted_channel, found.posted_id) if found else None

    async def remind(self, now: datetime) -> int:
        written = await self._write(select_cases_to_remind_of(now), now, self._pinged)
        if not self._reminders.second_level:
            return written
        waiting = select_cases_for_second_level(now - self._reminders.second_level)
        return written + await self._write(waiting, now, _on_second_level)

    async def _write(
        self,
        waiting: case_rows.SelectCases,
        now: datetime,
        change: Callable[[Case, datetime], tuple[Case, Step]],
    ) -> int:
        """Write a step of nobody's for each case of a query; return how many."""
        if await self._transactions.first(waiting.limit(1)) is None:
            return 0
        async with self._transactions.writing() as connection:
            # The webhook's event refers to the interaction, which an act on the case has locked
            # first: who waits for neither can be in no deadlock.
            locked = waiting.with_for_update(of=(InteractionRow, EscalationRow), skip_locked=True)
            rows = (await connection.execute(locked.limit(REMINDERS_PER_ROUND))).all()
            for row in rows:
                await _write_step(connection, *change(case_rows.case_of(row), now), now)
        return len(rows)

    def _pinged(self, waiting: Case, now: datetime) -> tuple[Case, Step]:
        pings = waiting.pings + 1
        due_at = self._reminders.due(now, pings)
        return replace(waiting, pings=pings, due_at=due_at, version=waiting.version + 1), "ping"


def _on_second_level(waiting: Case, now: datetime) -> tuple[Case, Step]:  # noqa: ARG001 - as others
    return replace(waiting, level=SECOND_LEVEL, version=waiting.version + 1), "second_level"


async def _write_step(connection: AsyncConnection, case: Case, step: Step, now: datetime) -> None:
    key = case.interaction_id
    number = await connection.scalar(case_rows.select_next_step_number(key)) or 1
    await connection.execute(case_rows.update_case(case))
    taken = CaseStep(key, number, step, actor=None, text="", at=now)
    await connection.execute(case_rows.insert_step(case.tenant, taken))
    await connection.execute(case_rows.insert_webhook_event(case, number, now))
    await connection.execute(case_rows.insert_notice(case, number, "people", now))


def select_due(now: datetime) -> Select[*tuple[Any, ...]]:
    """Return the query for the notices that are due and not claimed, oldest first."""
    row, step = NoticeRow, EscalationStepRow
    return (
        select(
            row,
            *(step.step, step.actor, step.actor_name, step.actor_role, step.text),
            *(step.assignee, step.assignee_name, step.about, step.in_thread),
        )
        .join(step, and_(step.interaction_id == row.interaction_id, step.number == row.number))
        .where(
            row.due_at.is_not(None),
            # New notices are due at once, even if the writer's clock is ahead of this one.
            or_(row.due_at <= now, row.attempts == 0),
            or_(row.held_until.is_(None), row.held_until <= now),
            ~_waits_for_earlier(),
        )
        .order_by(row.due_at, row.interaction_id, row.number, row.to)
    )


def select_cases_to_remind_of(now: datetime) -> case_rows.SelectCases:
    """Return the query for the cases of all tenants whose reminder is due, oldest first."""
    row = EscalationRow
    return (
        case_rows.select_with_question()
        .where(row.joined_to.is_(None), row.due_at <= now, row.state.in_(sorted(WAITING)))
        .order_by(row.due_at, row.interaction_id)
    )


def select_cases_for_second_level(since: datetime) -> case_rows.SelectCases:
    """Return the query for the cases of all tenants that nobody has had since a time."""
    row = EscalationRow
    return (
        case_rows.select_with_question()
        .where(
            row.joined_to.is_(None),
            row.state.in_(sorted(WAITING)),
            row.level < SECOND_LEVEL,
            row.changed_at <= since,
        )
        .order_by(row.changed_at, row.interaction_id)
    )


def _waits_for_earlier() -> ColumnElement[bool]:
    ahead = aliased(NoticeRow)
    return exists().where(
        ahead.interaction_id == NoticeRow.interaction_id,
        ahead.to == NoticeRow.to,
        ahead.number < NoticeRow.number,
        ahead.due_at.is_not(None),
    )


def _update_notice(notice: Notice | Row[*tuple[Any, ...]]) -> Update:
    return update(NoticeRow).where(
        NoticeRow.interaction_id == notice.interaction_id,
        NoticeRow.number == notice.number,
        NoticeRow.to == notice.to,
    )


def _update_claimed_notice(notice: Notice) -> Update:
    """Return an update of a notice that applies only while this claim on it is valid."""
    return _update_notice(notice).where(
        NoticeRow.attempts == notice.attempts + 1, NoticeRow.due_at.is_not(None)
    )


def _notice_of(row: Row[Any]) -> Notice:
    return Notice(
        id=f"{row.interaction_id}:{row.number}:{row.to}",
        interaction_id=InteractionId(row.interaction_id),
        number=row.number,
        step=row.step,
        to=row.to,
        actor=case_rows.actor_of(row),
        text=row.text,
        attempts=row.attempts,
        posted=posted_ref_of(row.posted_channel, row.posted_id),
        detail=case_rows.detail_of(row),
    )

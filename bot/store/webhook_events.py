"""Store the events of the case webhook: which are to be sent, in order, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, Update, and_, exists, func, or_, select, update
from sqlalchemy.orm import aliased

from bot.domain.cases import CaseStatus
from bot.domain.json_codec import storable
from bot.domain.messages import InteractionId
from bot.learning.case_webhook import CaseEvent, WebhookCounts
from bot.store.case_rows import step_of
from bot.store.connections import Transactions
from bot.store.learning_tables import WebhookEventRow
from bot.store.tables import EscalationStepRow


class StoredWebhookEvents:
    """Queues events of the webhook. Implements bot.learning.case_webhook.CaseEvents.

    They are written by StoredEscalations, StoredNotices and StoredWork, in the transaction of the
    step. Of a case none is due before the earlier ones are sent or given up. One that was queued
    again meanwhile is not changed by what became of the attempt before.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def due(
        self, tenant: str, *, after: datetime, now: datetime, limit: int
    ) -> Sequence[CaseEvent]:
        rows = await self._transactions.rows(_select_due(tenant, after, now).limit(limit))
        return [_event_of(row) for row in rows]

    async def give_up(self, tenant: str, *, queued_until: datetime) -> int:
        waiting = _waiting(tenant, WebhookEventRow.queued_at <= queued_until)
        if await self._transactions.first(select(WebhookEventRow.number).where(waiting)) is None:
            return 0
        return await self._transactions.execute(
            update(WebhookEventRow).where(waiting).values(due_at=None)
        )

    async def sent(self, event: CaseEvent, at: datetime) -> None:
        await self._transactions.execute(
            _update_attempted(event).values(due_at=None, sent_at=at, failure="")
        )

    async def later(self, event: CaseEvent, at: datetime, why: str) -> None:
        await self._transactions.execute(
            _update_attempted(event).values(
                due_at=at, attempts=event.attempts + 1, failure=storable(why)
            )
        )

    async def replay(self, tenant: str, *, since: datetime, now: datetime) -> int:
        row = WebhookEventRow
        again = update(row).where(row.tenant == tenant, row.at >= since)
        return await self._transactions.execute(
            again.values(due_at=now, queued_at=now, attempts=0, sent_at=None, failure="")
        )

    async def counts(self, tenant: str) -> WebhookCounts:
        row = WebhookEventRow
        waiting, given_up = (
            func.count().filter(row.due_at.is_not(None)),
            func.count().filter(row.due_at.is_(None), row.sent_at.is_(None)),
        )
        counted = await self._transactions.first(
            select(waiting, given_up, func.max(row.sent_at)).where(row.tenant == tenant)
        )
        failure = await self._transactions.scalar(
            select(row.failure)
            .where(row.tenant == tenant, row.failure != "")
            .order_by(row.queued_at.desc(), row.at.desc())
            .limit(1)
        )
        waits, lost, sent_at = counted or (0, 0, None)
        return WebhookCounts(waits, lost, sent_at, failure or "")


def _select_due(tenant: str, after: datetime, now: datetime) -> Select[*tuple[Any, ...]]:
    """Return the query for the first waiting event of each case, if it is due; oldest first."""
    row, step = WebhookEventRow, EscalationStepRow
    ahead = aliased(row)
    earlier = exists().where(
        ahead.interaction_id == row.interaction_id,
        ahead.number < row.number,
        ahead.due_at.is_not(None),
        ahead.queued_at > after,
    )
    return (
        select(step, row.state, row.owner_name, row.queued_at, row.attempts)
        .join(step, and_(step.interaction_id == row.interaction_id, step.number == row.number))
        .where(
            _waiting(tenant, row.queued_at > after),
            # New events are due at once, even if the writer's clock is ahead of this one.
            or_(row.due_at <= now, row.attempts == 0),
            ~earlier,
        )
        .order_by(row.due_at, row.interaction_id)
    )


def _waiting(tenant: str, *more: ColumnElement[bool]) -> ColumnElement[bool]:
    row = WebhookEventRow
    return and_(row.tenant == tenant, row.due_at.is_not(None), *more)


def _update_attempted(event: CaseEvent) -> Update:
    """Return an update of an event that applies only if it is as it was when it was taken."""
    row = WebhookEventRow
    return update(row).where(
        row.interaction_id == event.step.interaction_id,
        row.number == event.step.number,
        row.attempts == event.attempts,
        row.queued_at == event.queued_at,
    )


def _event_of(row: Row[Any]) -> CaseEvent:
    return CaseEvent(
        InteractionId(row.interaction_id),
        step_of(row),
        CaseStatus(row.state, owner_name=row.owner_name),
        row.queued_at,
        row.attempts,
    )

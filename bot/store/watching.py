"""A conversation at a glance: one statement, without the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, Select, select

from bot.records.watching import Glance
from bot.store.tables import EscalationRow, InteractionRow, ProgressRow
from bot.store.transactions import Transactions
from bot.types import InteractionId, Stage, Thread


class StoredWatching:
    """Implements bot.records.watching.Watches."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def thread(self, thread: Thread, limit: int) -> Sequence[Glance]:
        async with self._transactions.reading() as connection:
            newest_first = (await connection.execute(at_a_glance(thread, limit))).all()
        return [_glance(row) for row in reversed(newest_first)]


def at_a_glance(thread: Thread, limit: int) -> Select[Any]:
    """The last questions of a thread, newest first, with the last stage and the case of each."""
    stage = (
        select(ProgressRow.stage)
        .where(ProgressRow.interaction_id == InteractionRow.id)
        .order_by(ProgressRow.sequence.desc())
        .limit(1)
        .scalar_subquery()
    )
    return (
        select(
            InteractionRow.id,
            InteractionRow.status,
            stage.label("stage"),
            EscalationRow.state,
            EscalationRow.version,
        )
        .outerjoin(
            EscalationRow,
            (EscalationRow.interaction_id == InteractionRow.id)
            & InteractionRow.status.not_in(("cancelling", "cancelled")),
        )
        .where(InteractionRow.tenant == thread.tenant, InteractionRow.thread == thread.key)
        .order_by(InteractionRow.number.desc())
        .limit(limit)
    )


def _glance(row: Row[Any]) -> Glance:
    return Glance(
        id=InteractionId(row.id),
        status=row.status,
        stage=None if row.stage is None else Stage(row.stage),
        case_state=row.state,
        case_version=row.version or 0,
    )

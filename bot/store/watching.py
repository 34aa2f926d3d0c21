"""A conversation at a glance: one statement, without the texts."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Row, Select, func, select

from bot.domain.record_search import InteractionGlance
from bot.domain.types import InteractionId, Stage, Thread
from bot.store.tables import EscalationRow, InteractionRow, ProgressRow
from bot.store.transactions import Transactions


class StoredWatching:
    """Implements bot.domain.record_search.Watches."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def thread(self, thread: Thread, limit: int) -> Sequence[InteractionGlance]:
        async with self._transactions.reading() as connection:
            newest_first = (await connection.execute(at_a_glance(thread, limit))).all()
        return [_glance(row) for row in reversed(newest_first)]


def at_a_glance(thread: Thread, limit: int) -> Select[str, str, str, int, str, int]:
    """The last questions of a thread, newest first, with the last stage and the case of each."""
    latest = (
        select(func.max(ProgressRow.sequence))
        .where(ProgressRow.interaction_id == InteractionRow.id)
        .correlate(InteractionRow)
        .scalar_subquery()
    )
    return (
        select(
            InteractionRow.id,
            InteractionRow.status,
            ProgressRow.stage,
            ProgressRow.pages,
            EscalationRow.state,
            EscalationRow.version,
        )
        .select_from(InteractionRow)
        .outerjoin(
            ProgressRow,
            (ProgressRow.interaction_id == InteractionRow.id) & (ProgressRow.sequence == latest),
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


def _glance(row: Row[str, str, str, int, str, int]) -> InteractionGlance:
    return InteractionGlance(
        id=InteractionId(row.id),
        status=row.status,
        stage=None if row.stage is None else Stage(row.stage),
        pages=row.pages or 0,
        case_state=row.state,
        case_version=row.version or 0,
    )

"""The threads that were written to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Select, select, tuple_

from bot.domain.record_reports import ConversationRecord
from bot.store.tables import ConversationRow
from bot.store.transactions import Transactions


class StoredConversations:
    """Lists conversations; a row is written when a message is kept."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def newest(
        self, tenant: str, limit: int, after: ConversationRecord | None = None
    ) -> Sequence[ConversationRecord]:
        """Return those last written to, newest first; ``after`` is where a page ended."""
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(newest(tenant, limit, after))).all()
        return [ConversationRecord(*row) for row in rows]


def newest(
    tenant: str, limit: int, after: ConversationRecord | None
) -> Select[str, str, str, bool, datetime, datetime]:
    """The conversations of a tenant, by their last message."""
    row = ConversationRow
    statement = (
        select(row.tenant, row.thread, row.channel, row.private, row.started_at, row.last_at)
        .where(row.tenant == tenant)
        .order_by(row.last_at.desc(), row.thread.desc())
        .limit(limit)
    )
    if after is None:
        return statement
    return statement.where(tuple_(row.last_at, row.thread) < (after.last_at, after.thread))

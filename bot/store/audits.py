"""What admins did."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Insert, Select, insert, select

from bot.records.sums import AuditRecord
from bot.store.codec import storable
from bot.store.tables import AuditRow
from bot.store.transactions import Transactions


class StoredAudits:
    """Keeps acts; none is ever changed or removed."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def append(
        self, tenant: str, actor: str, act: str, subject: str, *, detail: str = ""
    ) -> None:
        """Keep an act (32 characters at most) of ``actor``, such as ``cli:NAME``."""
        async with self._transactions.writing() as connection:
            await connection.execute(audited(tenant, actor, act, subject, detail=detail))

    async def newest(
        self, tenant: str, limit: int, before: int | None = None
    ) -> Sequence[AuditRecord]:
        """Return the last acts, newest first; ``before`` is the number where a page ended."""
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(newest(tenant, limit, before))).all()
        return [AuditRecord(*row) for row in rows]


def audited(tenant: str, actor: str, act: str, subject: str, *, detail: str = "") -> Insert:
    """An act, to be kept in the transaction of what it changes."""
    return insert(AuditRow).values(
        tenant=tenant,
        at=datetime.now(UTC),
        actor=storable(actor),
        act=act,
        subject=storable(subject),
        detail=storable(detail),
    )


def newest(
    tenant: str, limit: int, before: int | None
) -> Select[int, datetime, str, str, str, str]:
    """The last acts of a tenant."""
    row = AuditRow
    statement = (
        select(row.number, row.at, row.actor, row.act, row.subject, row.detail)
        .where(row.tenant == tenant)
        .order_by(row.number.desc())
        .limit(limit)
    )
    return statement if before is None else statement.where(row.number < before)

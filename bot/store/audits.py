"""What admins did."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Insert, Select, func, insert, select

from bot.domain.json_codec import storable
from bot.domain.record_reports import AuditRecord
from bot.store.tables import AuditRow, EscalationStepRow
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
            called = await connection.execute(names([row.subject for row in rows]))
            by_act = {(case, actor): name for case, actor, name in called}
        return [AuditRecord(*row, name=by_act.get((row.subject, row.actor), "")) for row in rows]


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


def names(cases: Sequence[str]) -> Select[str, str, str]:
    """What those who acted on escalations are called."""
    row = EscalationStepRow
    return (
        select(row.interaction_id, row.actor, func.max(row.actor_name))
        .where(row.interaction_id.in_(cases))
        .group_by(row.interaction_id, row.actor)
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

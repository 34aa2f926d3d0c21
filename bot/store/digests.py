"""Store of digests: who gets them where, which week was sent, and what they count."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, select, update

from bot.domain.json_codec import storable
from bot.learning.digest import Subscription
from bot.store.connections import Transactions
from bot.store.key_values import insert_audit
from bot.store.learning_tables import DigestRow, ReviewedAnswerRow
from bot.store.queries import upsert
from bot.store.tables import EscalationRow

MOST_CASES = 1_000
_UNSETTLED = ("open", "reopened", "claimed", "answered")
_LONGEST_FAILURE = 500


class StoredDigests:
    """Stores subscriptions. Implements bot.learning.digest.DigestRecord."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def subscribe(self, tenant: str, wanted: Subscription, *, actor: str) -> None:
        values = {
            "tenant": tenant,
            "target": storable(wanted.target),
            "person_id": storable(wanted.person_id),
            "email": storable(wanted.email),
            "owner": storable(wanted.owner),
            "created_by": storable(wanted.created_by),
            "created_at": wanted.created_at,
            "off": False,
            "failure": "",
        }
        dialect, key = self._transactions.dialect, ("tenant", "target")
        async with self._transactions.writing() as connection:
            await connection.execute(upsert(dialect, DigestRow, values, key))
            await connection.execute(insert_audit(tenant, actor, "digest on", wanted.target))

    async def unsubscribe(self, tenant: str, target: str, *, actor: str) -> bool:
        row = DigestRow
        change = update(row).where(row.tenant == tenant, row.target == storable(target))
        async with self._transactions.writing() as connection:
            changed = await connection.execute(change.where(row.off.is_(False)).values(off=True))
            if changed.rowcount:
                await connection.execute(insert_audit(tenant, actor, "digest off", target))
        return bool(changed.rowcount)

    async def one(self, tenant: str, target: str) -> Subscription | None:
        row = DigestRow
        found = await self._transactions.rows(
            select(row).where(row.tenant == tenant, row.target == storable(target))
        )
        return _subscription(found[0]) if found else None

    async def listed(self, tenant: str) -> Sequence[Subscription]:
        row = DigestRow
        found = select(row).where(row.tenant == tenant).order_by(row.target)
        return [_subscription(each) for each in await self._transactions.rows(found)]

    async def tried(self, tenant: str, target: str, week: str) -> None:
        await self._set(tenant, target, tried_week=week)

    async def ended(self, tenant: str, target: str, week: str, failure: str = "") -> None:
        await self._set(tenant, target, sent_week=week, failure=_kept(failure))

    async def failed(self, tenant: str, target: str, failure: str) -> None:
        await self._set(tenant, target, failure=_kept(failure))

    async def open_since(self, tenant: str) -> Sequence[datetime]:
        row = EscalationRow
        return await self._transactions.scalars(
            select(row.opened_at)
            .where(row.tenant == tenant, row.state.in_(_UNSETTLED))
            .order_by(row.opened_at)
            .limit(MOST_CASES)
        )

    async def answers_live_since(self, tenant: str, since: datetime) -> int:
        row = ReviewedAnswerRow
        found = await self._transactions.scalar(
            select(func.count())
            .select_from(row)
            .where(row.tenant == tenant, row.state == "live", row.changed_at >= since)
        )
        return found or 0

    async def _set(self, tenant: str, target: str, **values: object) -> None:
        row = DigestRow
        await self._transactions.execute(
            update(row).where(row.tenant == tenant, row.target == storable(target)).values(**values)
        )


def _kept(failure: str) -> str:
    return storable(failure)[:_LONGEST_FAILURE]


def _subscription(row: Row[Any]) -> Subscription:
    return Subscription(
        target=row.target,
        created_by=row.created_by,
        created_at=row.created_at,
        person_id=row.person_id,
        email=row.email,
        owner=row.owner,
        off=row.off,
        tried_week=row.tried_week,
        sent_week=row.sent_week,
        failure=row.failure,
    )

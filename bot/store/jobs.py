"""Store which process works on which background job, and how far each job came."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import ColumnElement, and_, or_, select, update

from bot.store.connections import Transactions
from bot.store.learning_tables import JobRow
from bot.store.leases import lease_clock
from bot.store.queries import insert_once, upsert


class StoredJobs:
    """Stores jobs; leases run by the clock that all replicas share.

    Implements bot.learning.jobs.JobLeases and JobMarks.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def take(self, tenant: str, job: str, owner: str, lease: timedelta) -> bool:
        dialect = self._transactions.dialect
        is_free = or_(
            JobRow.owner.is_(None), JobRow.owner == owner, JobRow.held_until < lease_clock(dialect)
        )
        take = (
            update(JobRow)
            .where(_is(tenant, job), is_free)
            .values(owner=owner, held_until=lease_clock(dialect, lease))
        )
        async with self._transactions.writing(lasting=False) as connection:
            row = {"tenant": tenant, "name": job}
            await connection.execute(insert_once(dialect, JobRow, row))
            return (await connection.execute(take)).rowcount == 1

    async def release(self, tenant: str, job: str, owner: str) -> None:
        free = update(JobRow).where(_is(tenant, job), JobRow.owner == owner)
        await self._transactions.execute(free.values(owner=None, held_until=None), lasting=False)

    async def mark(self, tenant: str, job: str) -> str:
        found = await self._transactions.scalar(select(JobRow.mark).where(_is(tenant, job)))
        return found or ""

    async def set_mark(self, tenant: str, job: str, mark: str) -> None:
        row = {"tenant": tenant, "name": job, "mark": mark}
        await self._transactions.execute(
            upsert(self._transactions.dialect, JobRow, row, key=("tenant", "name"))
        )


def _is(tenant: str, job: str) -> ColumnElement[bool]:
    return and_(JobRow.tenant == tenant, JobRow.name == job)

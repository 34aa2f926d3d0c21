"""Store which processes are alive, and which of them may work on what.

A process is alive until its lease runs out; a claim is valid while its process is alive. All
replicas measure leases by one clock: the database server's, or this machine's beside SQLite.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    Delete,
    Insert,
    Select,
    Update,
    and_,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from bot.domain.interactions import Claim, Interaction
from bot.store.connections import Transactions
from bot.store.tables import InteractionRow, ReplicaRow

LONGEST_HOLD_UP = timedelta(minutes=1)

UNFINISHED = or_(
    InteractionRow.status.in_(("working", "cancelling")),
    and_(InteractionRow.status == "done", InteractionRow.posted_id.is_(None)),
)


def lease_clock(dialect: str) -> ColumnElement[datetime]:
    """Return the moment that leases are measured by: one clock for all replicas."""
    if dialect == "postgresql":
        return func.clock_timestamp()
    return literal(datetime.now(UTC), ReplicaRow.lease_until.type)


def lease_clock_before(dialect: str, span: timedelta) -> ColumnElement[datetime]:
    """Return the moment that was so long ago, on the same clock."""
    if dialect == "postgresql":
        return func.clock_timestamp() - span
    return literal(datetime.now(UTC) - span, ReplicaRow.lease_until.type)


def select_living(dialect: str) -> Select[str]:
    """The processes whose lease has not run out."""
    return select(ReplicaRow.id).where(ReplicaRow.lease_until > lease_clock(dialect))


def claim_work(interaction_id: str, owner: str, dialect: str) -> Update:
    """Take unfinished work that nobody alive has."""
    row = InteractionRow
    free = or_(row.owner.is_(None), row.owner == owner, row.owner.not_in(select_living(dialect)))
    return (
        update(row)
        .where(row.id == interaction_id, UNFINISHED, free)
        .values(owner=owner, epoch=row.epoch + 1)
    )


def select_unfinished(dialect: str, owner: str | None) -> Select[str, int]:
    """Work of all tenants that nobody alive but ``owner`` has; it is shown to nobody."""
    row = InteractionRow
    orphaned = or_(
        row.owner.is_(None), row.owner == owner, row.owner.not_in(select_living(dialect))
    )
    return select(row.id, row.epoch).where(UNFINISHED, orphaned).order_by(row.number)


def select_has_earlier(interaction: Interaction, dialect: str) -> Select[bool]:
    """Whether an earlier message of a thread has no outcome, or one that is not posted yet.

    A platform that does not take a reply holds up the next one for a minute, not for a day.
    """
    row = InteractionRow
    lately = lease_clock_before(dialect, LONGEST_HOLD_UP)
    unposted = and_(row.status == "done", row.posted_id.is_(None), row.finished_at > lately)
    return select(
        exists().where(
            row.tenant == interaction.message.thread.tenant,
            row.thread == interaction.message.thread.key,
            row.number < interaction.number,
            or_(row.status == "working", unposted),
        )
    )


def upsert_lease(dialect: str, replica: str, host: str, seconds: float) -> Insert:
    """Begin or prolong a lease."""
    until = lease_clock(dialect) + timedelta(seconds=seconds)
    if dialect != "postgresql":
        moment = datetime.now(UTC)
        until = literal(moment + timedelta(seconds=seconds), ReplicaRow.lease_until.type)
    values = {"id": replica, "host": host, "started_at": lease_clock(dialect), "lease_until": until}
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    return (
        make(ReplicaRow)
        .values(**values)
        .on_conflict_do_update(index_elements=[ReplicaRow.id], set_={"lease_until": until})
    )


def delete_lease(replica: str) -> Delete:
    """End a lease at once."""
    return delete(ReplicaRow).where(ReplicaRow.id == replica)


def delete_expired_lease(replica: str, dialect: str) -> Delete:
    """Forget a process whose lease has run out; one that came back stays."""
    return delete(ReplicaRow).where(
        ReplicaRow.id == replica, ReplicaRow.lease_until <= lease_clock(dialect)
    )


def is_claimed_by(claim: Claim) -> ColumnElement[bool]:
    """Whether an interaction is still claimed so."""
    return and_(InteractionRow.owner == claim.owner, InteractionRow.epoch == claim.epoch)


def delete_other_leases(replica: str) -> Delete:
    """End every lease but one: where only one process can be, the others are dead."""
    return delete(ReplicaRow).where(ReplicaRow.id != replica)


def select_expired(dialect: str) -> Select[str]:
    """The processes whose lease has run out."""
    return select(ReplicaRow.id).where(ReplicaRow.lease_until <= lease_clock(dialect))


class StoredReplicas:
    """Leases on the database's clock, so that replicas on several hosts agree."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def prolong(self, replica: str, *, seconds: float) -> None:
        """Begin or prolong a lease."""
        host = socket.gethostname()
        statement = upsert_lease(self._transactions.dialect, replica, host, seconds)
        async with self._transactions.writing(lasting=False) as connection:
            await connection.execute(statement)

    async def release(self, replica: str) -> None:
        """End a lease, so that others take over at once."""
        async with self._transactions.writing(lasting=False) as connection:
            await connection.execute(delete_lease(replica))

    async def bury(self, replica: str) -> None:
        """Forget a process whose lease has run out, unless it came back."""
        async with self._transactions.writing(lasting=False) as connection:
            await connection.execute(delete_expired_lease(replica, self._transactions.dialect))

    async def alone(self, replica: str) -> None:
        """End all leases but one, where only one process can be."""
        async with self._transactions.writing(lasting=False) as connection:
            await connection.execute(delete_other_leases(replica))

    async def dead(self) -> Sequence[str]:
        """Return the processes whose lease has run out."""
        async with self._transactions.reading() as connection:
            return list(await connection.scalars(select_expired(self._transactions.dialect)))

    async def living(self) -> Sequence[str]:
        """Return the processes that are alive."""
        async with self._transactions.reading() as connection:
            statement = select_living(self._transactions.dialect).order_by(ReplicaRow.started_at)
            return list(await connection.scalars(statement))

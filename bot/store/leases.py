"""Leases of processes, and their claims on interactions.

A process is alive until its lease expires; a claim is valid while its process is alive. All
replicas measure leases by one clock: the database server's, or with SQLite this machine's.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Insert,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal,
    not_,
    or_,
    select,
    update,
)

from bot.domain.interactions import Claim, Interaction
from bot.domain.json_codec import storable
from bot.store.connections import Transactions
from bot.store.queries import Prepared, upsert
from bot.store.tables import InteractionRow, ReplicaRow

LONGEST_HOLD_UP = timedelta(minutes=5)
"""How long an answer that is not posted yet delays the next answer of its thread.

It may wait for its turn, for a platform that is away, or for a look-up: after a server died these
are many, and Slack takes 50 a minute.
"""

UNFINISHED = or_(
    InteractionRow.status.in_(("working", "cancelling")),
    and_(InteractionRow.status == "done", InteractionRow.posted_id.is_(None)),
)
"""The condition for interactions that are not answered, posted or withdrawn yet."""


def lease_clock(dialect: str, ahead: timedelta = timedelta(0)) -> ColumnElement[datetime]:
    """Return the SQL expression of a time ``ahead`` of now on the clock that all replicas share."""
    if dialect == "postgresql":
        return func.clock_timestamp() + ahead
    return literal(datetime.now(UTC) + ahead, ReplicaRow.lease_until.type)


def select_living(now: ColumnElement[datetime]) -> Select[str]:
    """Return the query for the processes whose lease has not expired by the time ``now``."""
    return select(ReplicaRow.id).where(ReplicaRow.lease_until > now)


def claim_work(ids: Sequence[str], owner: str, dialect: str) -> Prepared[Update]:
    """Return the statement that claims unfinished interactions not claimed by a live process.

    It returns the rows of those that it claimed.
    """
    values: dict[str, object] = {"ids": list(map(storable, ids)), "claimed_by": owner}
    if dialect != "postgresql":
        values["now"] = datetime.now(UTC)
    return _claim_work(dialect), values


@cache
def _claim_work(dialect: str) -> Update:
    row = InteractionRow
    owner: BindParameter[str] = bindparam("claimed_by")
    now = (
        lease_clock(dialect)
        if dialect == "postgresql"
        else bindparam("now", type_=ReplicaRow.lease_until.type)
    )
    wanted = row.id.in_(bindparam("ids", expanding=True))
    found = select(row.number).where(wanted, UNFINISHED, _not_of_others(now, owner))
    if dialect == "postgresql":
        # In one order everywhere: two processes may claim the same interactions.
        found = found.order_by(row.number).with_for_update()
    return (
        update(row)
        .where(row.number.in_(found.scalar_subquery()))
        .values(owner=owner, epoch=row.epoch + 1)
        .returning(row)
    )


UNFINISHED_WORK = (
    InteractionRow.number,
    InteractionRow.id,
    InteractionRow.epoch,
    InteractionRow.status,
    InteractionRow.tenant,
    InteractionRow.thread,
    InteractionRow.person,
    InteractionRow.channel,
)
"""What is read of unfinished work: what is left of it, and whose turn it takes."""

UNCLAIMED = and_(InteractionRow.status == "working", InteractionRow.owner.is_(None))
"""The condition for messages that a process kept for others to answer, and none has taken yet."""


def take_unclaimed(dialect: str, owner: str, most: int) -> Update:
    """Return the statement that claims messages nobody has taken yet, and returns their rows.

    Everyone's first goes before anyone's second. Processes that take at the same moment do not
    wait for each other: what one is about to take the others leave out.
    """
    row = InteractionRow
    turn = func.row_number().over(partition_by=(row.tenant, row.person), order_by=row.number)
    waiting = select(row.number, turn.label("turn")).where(UNCLAIMED).subquery()
    next_ones = select(waiting.c.number).order_by(waiting.c.turn, waiting.c.number).limit(most)
    free = select(row.number).where(row.number.in_(next_ones.scalar_subquery()), UNCLAIMED)
    if dialect == "postgresql":
        free = free.with_for_update(skip_locked=True)
    return (
        update(row)
        .where(row.number.in_(free.scalar_subquery()))
        .values(owner=owner, epoch=row.epoch + 1)
        .returning(row)
    )


def take_orphans(dialect: str, owner: str, most: int, dead: Sequence[str]) -> Update:
    """Return the statement that claims the oldest unfinished work of ``dead`` or buried processes.

    What is to be answered goes before what is only to be posted, of which there may be much.

    It returns UNFINISHED_WORK of what it claimed, in any order; without what is UNCLAIMED.
    Processes that claim at the same moment do not wait for each other, and one whose own lease has
    run out claims nothing: two of these would take from each other.
    """
    row, now = InteractionRow, lease_clock(dialect)
    # A lease that has only just run out is left to the next round, which knows what was begun.
    buried = not_(exists().where(ReplicaRow.id == row.owner))
    orphans = select(row.number).where(
        UNFINISHED,
        not_(UNCLAIMED),
        row.owner.is_distinct_from(owner),
        _not_of_others(now, owner),
        or_(row.owner.is_(None), row.owner.in_(dead), buried),
        exists(select_living(now).where(ReplicaRow.id == owner)),
    )
    # Not by the column itself: PostgreSQL would look for them among all interactions, oldest first.
    orphans = orphans.order_by(row.status == "done", row.number + 0).limit(most)
    if dialect == "postgresql":
        orphans = orphans.with_for_update(skip_locked=True, of=row)
    # In a table expression, as PostgreSQL may evaluate a subquery anew for each row.
    taken = orphans.cte("taken")
    return (
        update(row)
        .where(row.number.in_(select(taken.c.number)))
        .values(owner=owner, epoch=row.epoch + 1)
        .returning(*UNFINISHED_WORK)
    )


def select_unfinished(
    dialect: str, owner: str | None
) -> Select[int, str, int, str, str, str, str, str]:
    """Return the query for unfinished interactions claimed by ``owner``; None: by no live process.

    Covers all tenants, so its result must not be shown to users.
    """
    row = InteractionRow
    whose = row.owner == owner if owner else _not_of_others(lease_clock(dialect), None)
    return select(*UNFINISHED_WORK).where(UNFINISHED, whose).order_by(row.number)


def select_unfinished_ids(dialect: str, owner: str | None) -> Select[str | None]:
    """Return the query for the ids of what ``owner`` or no live process has, in one text.

    Without those that are UNCLAIMED.

    One row: between two, SQLite's driver lets other threads run, so that ten thousand held the file
    for a tenth of a second while messages waited to be stored.
    """
    joined = func.string_agg if dialect == "postgresql" else func.group_concat
    return select(joined(InteractionRow.id, ",")).where(
        UNFINISHED, _not_of_others(lease_clock(dialect), owner), not_(UNCLAIMED)
    )


def _not_of_others(
    now: ColumnElement[datetime], owner: str | BindParameter[str] | None
) -> ColumnElement[bool]:
    """Return the condition for what no live process but ``owner`` has claimed."""
    row = InteractionRow
    return or_(row.owner.is_(None), row.owner == owner, row.owner.not_in(select_living(now)))


def select_has_earlier(interaction: Interaction, dialect: str) -> Prepared[Select[bool]]:
    """Return the query whether an earlier message of the thread is unanswered or not posted.

    An answer that is not posted yet delays the next one for LONGEST_HOLD_UP at most.
    """
    thread = interaction.message.thread
    values: dict[str, object] = {
        "tenant": thread.tenant,
        "thread": thread.key,
        "number": interaction.number,
    }
    if dialect != "postgresql":
        values["lately"] = datetime.now(UTC) - LONGEST_HOLD_UP
    return _select_has_earlier(dialect), values


@cache
def _select_has_earlier(dialect: str) -> Select[bool]:
    row = InteractionRow
    lately = (
        lease_clock(dialect, -LONGEST_HOLD_UP)
        if dialect == "postgresql"
        else bindparam("lately", type_=row.finished_at.type)
    )
    unposted = and_(row.status == "done", row.posted_id.is_(None), row.finished_at > lately)
    return select(
        exists().where(
            row.tenant == bindparam("tenant"),
            row.thread == bindparam("thread"),
            row.number < bindparam("number"),
            or_(row.status == "working", unposted),
        )
    )


def upsert_lease(dialect: str, replica: str, host: str, seconds: float) -> Insert:
    """Return the statement that starts or extends a lease."""
    until = lease_clock(dialect, timedelta(seconds=seconds))
    values = {"id": replica, "host": host, "started_at": lease_clock(dialect), "lease_until": until}
    return upsert(dialect, ReplicaRow, values, key=("id",), changed=("lease_until",))


def is_claimed_by(claim: Claim) -> ColumnElement[bool]:
    """Return the condition that an interaction still has this claim."""
    return and_(InteractionRow.owner == claim.owner, InteractionRow.epoch == claim.epoch)


class StoredReplicas:
    """Stores the leases of processes, on the database's clock so that all hosts agree."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def prolong(self, replica: str, *, seconds: float) -> None:
        """Start or extend the lease of a process to ``seconds`` from now."""
        host = socket.gethostname()
        statement = upsert_lease(self._transactions.dialect, replica, host, seconds)
        await self._transactions.execute(statement, lasting=False)

    async def release(self, replica: str) -> None:
        """End the lease of a process, so that others take over its work at once."""
        ended = lease_clock(self._transactions.dialect)
        await self._transactions.execute(
            update(ReplicaRow).where(ReplicaRow.id == replica).values(lease_until=ended),
            lasting=False,
        )

    async def bury(self, replica: str) -> None:
        """Delete the lease of a process if it has expired and none of its work is left."""
        expired = ReplicaRow.lease_until <= lease_clock(self._transactions.dialect)
        left = exists().where(UNFINISHED, InteractionRow.owner == replica)
        await self._transactions.execute(
            delete(ReplicaRow).where(ReplicaRow.id == replica, expired, not_(left)), lasting=False
        )

    async def alone(self, replica: str) -> None:
        """End all other leases; for a database that only one process can use."""
        now = lease_clock(self._transactions.dialect)
        others = (ReplicaRow.id != replica, ReplicaRow.lease_until > now)
        await self._transactions.execute(
            update(ReplicaRow).where(*others).values(lease_until=now), lasting=False
        )

    async def unanswered(self) -> int:
        """Return how many messages of all processes have no outcome yet."""
        count = select(func.count()).select_from(InteractionRow)
        working = count.where(InteractionRow.status == "working")
        return await self._transactions.scalar(working) or 0

    async def dead(self) -> Sequence[str]:
        """Return the processes whose lease has expired."""
        expired = ReplicaRow.lease_until <= lease_clock(self._transactions.dialect)
        return await self._transactions.scalars(select(ReplicaRow.id).where(expired))

    async def living(self) -> Sequence[str]:
        """Return the processes whose lease is valid, oldest first."""
        living = select_living(lease_clock(self._transactions.dialect))
        return await self._transactions.scalars(living.order_by(ReplicaRow.started_at))

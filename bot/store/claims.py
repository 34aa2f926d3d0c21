"""Who may work on what: statements over claims and leases, valid on SQLite and PostgreSQL."""

from __future__ import annotations

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

from bot.domain.types import Claim, Interaction
from bot.store.tables import InteractionRow, ReplicaRow

HELD_UP = timedelta(minutes=1)

UNFINISHED = or_(
    InteractionRow.status.in_(("working", "cancelling")),
    and_(InteractionRow.status == "done", InteractionRow.posted_id.is_(None)),
)


def now(dialect: str) -> ColumnElement[datetime]:
    """Return the moment that leases are measured by: one clock for all replicas."""
    if dialect == "postgresql":
        return func.clock_timestamp()
    return literal(datetime.now(UTC), ReplicaRow.lease_until.type)


def since(dialect: str, span: timedelta) -> ColumnElement[datetime]:
    """Return the moment that was so long ago, on the same clock."""
    if dialect == "postgresql":
        return func.clock_timestamp() - span
    return literal(datetime.now(UTC) - span, ReplicaRow.lease_until.type)


def living(dialect: str) -> Select[str]:
    """The processes whose lease has not run out."""
    return select(ReplicaRow.id).where(ReplicaRow.lease_until > now(dialect))


def claim(interaction_id: str, owner: str, dialect: str) -> Update:
    """Take unfinished work that nobody alive has."""
    row = InteractionRow
    free = or_(row.owner.is_(None), row.owner == owner, row.owner.not_in(living(dialect)))
    return (
        update(row)
        .where(row.id == interaction_id, UNFINISHED, free)
        .values(owner=owner, epoch=row.epoch + 1)
    )


def unfinished(dialect: str, owner: str | None) -> Select[str, int]:
    """Work of all tenants that nobody alive but ``owner`` has; it is shown to nobody."""
    row = InteractionRow
    orphaned = or_(row.owner.is_(None), row.owner == owner, row.owner.not_in(living(dialect)))
    return select(row.id, row.epoch).where(UNFINISHED, orphaned).order_by(row.number)


def earlier(interaction: Interaction, dialect: str) -> Select[bool]:
    """Whether an earlier message of a thread has no outcome, or one that is not posted yet.

    A platform that does not take a reply holds up the next one for a minute, not for a day.
    """
    row = InteractionRow
    lately = since(dialect, HELD_UP)
    unposted = and_(row.status == "done", row.posted_id.is_(None), row.finished_at > lately)
    return select(
        exists().where(
            row.tenant == interaction.message.thread.tenant,
            row.thread == interaction.message.thread.key,
            row.number < interaction.number,
            or_(row.status == "working", unposted),
        )
    )


def lease(dialect: str, replica: str, host: str, seconds: float) -> Insert:
    """Begin or prolong a lease."""
    until = now(dialect) + timedelta(seconds=seconds)
    if dialect != "postgresql":
        moment = datetime.now(UTC)
        until = literal(moment + timedelta(seconds=seconds), ReplicaRow.lease_until.type)
    values = {"id": replica, "host": host, "started_at": now(dialect), "lease_until": until}
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    return (
        make(ReplicaRow)
        .values(**values)
        .on_conflict_do_update(index_elements=[ReplicaRow.id], set_={"lease_until": until})
    )


def release(replica: str) -> Delete:
    """End a lease at once."""
    return delete(ReplicaRow).where(ReplicaRow.id == replica)


def bury(replica: str, dialect: str) -> Delete:
    """Forget a process whose lease has run out; one that came back stays."""
    return delete(ReplicaRow).where(
        ReplicaRow.id == replica, ReplicaRow.lease_until <= now(dialect)
    )


def held_by(claim: Claim) -> ColumnElement[bool]:
    """Whether an interaction is still claimed so."""
    return and_(InteractionRow.owner == claim.owner, InteractionRow.epoch == claim.epoch)


def others(replica: str) -> Delete:
    """End every lease but one: where only one process can be, the others are dead."""
    return delete(ReplicaRow).where(ReplicaRow.id != replica)


def dead(dialect: str) -> Select[str]:
    """The processes whose lease has run out."""
    return select(ReplicaRow.id).where(ReplicaRow.lease_until <= now(dialect))

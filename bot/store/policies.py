"""Stores of channel policies and of the audit trail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import Delete, Insert, Select, delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from bot.domain.json_codec import Codec, storable
from bot.domain.messages import Policy
from bot.domain.record_reports import AuditRecord, PolicyRecord
from bot.store.connections import Transactions
from bot.store.tables import AuditRow, EscalationStepRow, PolicyRow


class StoredPolicies:
    """Stores the policies of channels. Implements `bot.domain.ports.KeepsPolicies`.

    Each change writes an audit row in its transaction.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._codec = Codec(Policy)

    async def of(self, tenant: str, channel: str) -> Policy | None:
        async with self._transactions.reading() as connection:
            text = await connection.scalar(select_policy(tenant, storable(channel)))
        return None if text is None else self._codec.decode(text)

    async def all(self, tenant: str) -> Sequence[PolicyRecord]:
        """Return the policies of all channels that have one, ordered by channel name."""
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(select_policies(tenant))).all()
        return [
            PolicyRecord(channel, self._codec.decode(text), changed_by, changed_at)
            for channel, text, changed_by, changed_at in rows
        ]

    async def set(self, tenant: str, channel: str, allowed: Policy, *, actor: str) -> None:
        """Set a channel's policy, replacing an earlier one."""
        text = self._codec.encode(allowed)
        row = {
            "tenant": tenant,
            "channel": storable(channel),
            "policy": text,
            "changed_by": storable(actor),
            "changed_at": datetime.now(UTC),
        }
        async with self._transactions.writing() as connection:
            await connection.execute(upsert_policy(self._transactions.dialect, row))
            await connection.execute(
                insert_audit(tenant, actor, "set policy", channel, detail=text)
            )

    async def remove(self, tenant: str, channel: str, *, actor: str) -> bool:
        """Remove a channel's policy; return whether it had one."""
        async with self._transactions.writing() as connection:
            gone = await connection.execute(delete_policy(tenant, storable(channel)))
            if gone.rowcount:
                await connection.execute(insert_audit(tenant, actor, "clear policy", channel))
        return bool(gone.rowcount)


def select_policy(tenant: str, channel: str) -> Select[str]:
    """Return the query for the policy of one channel."""
    return select(PolicyRow.policy).where(PolicyRow.tenant == tenant, PolicyRow.channel == channel)


def select_policies(tenant: str) -> Select[str, str, str, datetime]:
    """Return the query for all policies of a tenant, ordered by channel."""
    return (
        select(PolicyRow.channel, PolicyRow.policy, PolicyRow.changed_by, PolicyRow.changed_at)
        .where(PolicyRow.tenant == tenant)
        .order_by(PolicyRow.channel)
    )


def upsert_policy(dialect: str, values: Mapping[str, object]) -> Insert:
    """Return the statement that inserts or replaces a policy."""
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    changed = {key: values[key] for key in ("policy", "changed_by", "changed_at")}
    key = [PolicyRow.tenant, PolicyRow.channel]
    return make(PolicyRow).values(**values).on_conflict_do_update(index_elements=key, set_=changed)


def delete_policy(tenant: str, channel: str) -> Delete:
    """Return the statement that deletes a policy."""
    return delete(PolicyRow).where(PolicyRow.tenant == tenant, PolicyRow.channel == channel)


class StoredAudits:
    """Stores the audit trail; rows are never changed or deleted."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def append(
        self, tenant: str, actor: str, act: str, subject: str, *, detail: str = ""
    ) -> None:
        """Record an act (32 characters at most) of ``actor``, such as ``cli:NAME``."""
        async with self._transactions.writing() as connection:
            await connection.execute(insert_audit(tenant, actor, act, subject, detail=detail))

    async def newest(
        self, tenant: str, limit: int, before: int | None = None
    ) -> Sequence[AuditRecord]:
        """Return the last audit records, newest first; with ``before``, those below a number."""
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(select_audits(tenant, limit, before))).all()
            called = await connection.execute(select_actor_names([row.subject for row in rows]))
            by_act = {(case, actor): name for case, actor, name in called}
        return [AuditRecord(*row, name=by_act.get((row.subject, row.actor), "")) for row in rows]


def insert_audit(tenant: str, actor: str, act: str, subject: str, *, detail: str = "") -> Insert:
    """Return the statement that inserts an audit row; run it in the change's own transaction."""
    return insert(AuditRow).values(
        tenant=tenant,
        at=datetime.now(UTC),
        actor=storable(actor),
        act=act,
        subject=storable(subject),
        detail=storable(detail),
    )


def select_actor_names(cases: Sequence[str]) -> Select[str, str, str]:
    """Return the query for the names of actors on escalations, by case and actor id."""
    row = EscalationStepRow
    return (
        select(row.interaction_id, row.actor, func.max(row.actor_name))
        .where(row.interaction_id.in_(cases))
        .group_by(row.interaction_id, row.actor)
    )


def select_audits(
    tenant: str, limit: int, before: int | None
) -> Select[int, datetime, str, str, str, str]:
    """Return the query for the last audit rows of a tenant, newest first."""
    row = AuditRow
    statement = (
        select(row.number, row.at, row.actor, row.act, row.subject, row.detail)
        .where(row.tenant == tenant)
        .order_by(row.number.desc())
        .limit(limit)
    )
    return statement if before is None else statement.where(row.number < before)

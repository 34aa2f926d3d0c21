"""What admins allow in single channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import Delete, Insert, Select, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from bot.domain.json_codec import Codec, storable
from bot.domain.record_reports import PolicyRecord
from bot.domain.types import Policy
from bot.store.audits import audited
from bot.store.tables import PolicyRow
from bot.store.transactions import Transactions


class StoredPolicies:
    """Implements bot.domain.ports.Policies. Each change leaves an audit row in its transaction."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._codec = Codec(Policy)

    async def of(self, tenant: str, channel: str) -> Policy | None:
        async with self._transactions.reading() as connection:
            text = await connection.scalar(policy(tenant, storable(channel)))
        return None if text is None else self._codec.decode(text)

    async def all(self, tenant: str) -> Sequence[PolicyRecord]:
        """Return the policies of all channels that have one, in the order of their names."""
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(policies(tenant))).all()
        return [
            PolicyRecord(channel, self._codec.decode(text), changed_by, changed_at)
            for channel, text, changed_by, changed_at in rows
        ]

    async def set(self, tenant: str, channel: str, allowed: Policy, *, actor: str) -> None:
        """Put a policy in place of the channel's earlier one."""
        text = self._codec.encode(allowed)
        row = {
            "tenant": tenant,
            "channel": storable(channel),
            "policy": text,
            "changed_by": storable(actor),
            "changed_at": datetime.now(UTC),
        }
        async with self._transactions.writing() as connection:
            await connection.execute(put(self._transactions.dialect, row))
            await connection.execute(audited(tenant, actor, "set policy", channel, detail=text))

    async def remove(self, tenant: str, channel: str, *, actor: str) -> bool:
        """Remove a channel's policy; return whether it had one."""
        async with self._transactions.writing() as connection:
            gone = await connection.execute(remove(tenant, storable(channel)))
            if gone.rowcount:
                await connection.execute(audited(tenant, actor, "clear policy", channel))
        return bool(gone.rowcount)


def policy(tenant: str, channel: str) -> Select[str]:
    """The policy of one channel."""
    return select(PolicyRow.policy).where(PolicyRow.tenant == tenant, PolicyRow.channel == channel)


def policies(tenant: str) -> Select[str, str, str, datetime]:
    """The policies of a tenant."""
    return (
        select(PolicyRow.channel, PolicyRow.policy, PolicyRow.changed_by, PolicyRow.changed_at)
        .where(PolicyRow.tenant == tenant)
        .order_by(PolicyRow.channel)
    )


def put(dialect: str, values: Mapping[str, object]) -> Insert:
    """Insert a policy or replace it."""
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    changed = {key: values[key] for key in ("policy", "changed_by", "changed_at")}
    key = [PolicyRow.tenant, PolicyRow.channel]
    return make(PolicyRow).values(**values).on_conflict_do_update(index_elements=key, set_=changed)


def remove(tenant: str, channel: str) -> Delete:
    """Delete a policy."""
    return delete(PolicyRow).where(PolicyRow.tenant == tenant, PolicyRow.channel == channel)

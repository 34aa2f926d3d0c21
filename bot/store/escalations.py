"""The questions that went to people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Row, Select, Update, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.errors import InteractionUnknown
from bot.records import EscalationRecord, EscalationState
from bot.store import queries
from bot.store.audits import audited
from bot.store.codec import storable
from bot.store.tables import EscalationRow, InteractionRow
from bot.store.transactions import Transactions
from bot.types import InteractionId

_ACTS: dict[EscalationState, str] = {"open": "reopen", "resolved": "resolve"}


class StoredEscalations:
    """Lists and settles escalations; a row is opened when an outcome is recorded."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def in_state(
        self, tenant: str, states: Sequence[EscalationState], limit: int
    ) -> Sequence[EscalationRecord]:
        """Return those in any of the states, the longest waiting first."""
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(in_state(tenant, states, limit))).all()
        return [_record(row) for row in rows]

    async def get(self, tenant: str, interaction_id: str) -> EscalationRecord | None:
        async with self._transactions.reading() as connection:
            return await _one(connection, tenant, storable(interaction_id))

    async def settle(
        self, tenant: str, interaction_id: str, state: EscalationState, *, owner: str | None
    ) -> EscalationRecord:
        """Put one into a state, by whom; one that is there already stays as it is.

        The change and its audit row are one transaction. Raises InteractionUnknown.
        """
        key = storable(interaction_id)
        change = settle(tenant, key, state, None if owner is None else storable(owner))
        async with self._transactions.writing() as connection:
            # The retention leaves alone what is held.
            await connection.execute(queries.held(key))
            if (await connection.execute(change)).rowcount:
                await connection.execute(audited(tenant, owner or "", _ACTS[state], key))
            settled = await _one(connection, tenant, key)
        if settled is None:
            raise InteractionUnknown(
                f"There is no escalation {interaction_id!r}. Use an id from "
                "`python -m bot escalations --all`."
            )
        return settled


def in_state(
    tenant: str, states: Sequence[EscalationState], limit: int
) -> Select[EscalationRow, str]:
    """Escalations in one of some states."""
    return (
        _all_of(tenant)
        .where(EscalationRow.state.in_(states))
        .order_by(EscalationRow.opened_at, EscalationRow.interaction_id)
        .limit(limit)
    )


def one(tenant: str, interaction_id: str) -> Select[EscalationRow, str]:
    """One escalation."""
    return _all_of(tenant).where(EscalationRow.interaction_id == interaction_id)


def settle(tenant: str, interaction_id: str, state: EscalationState, owner: str | None) -> Update:
    """Change the state, unless it is that already."""
    return (
        update(EscalationRow)
        .where(
            EscalationRow.tenant == tenant,
            EscalationRow.interaction_id == interaction_id,
            EscalationRow.state != state,
        )
        .values(state=state, owner=owner, changed_at=datetime.now(UTC))
    )


def _all_of(tenant: str) -> Select[EscalationRow, str]:
    return (
        select(EscalationRow, InteractionRow.channel)
        .join(InteractionRow, InteractionRow.id == EscalationRow.interaction_id)
        .where(EscalationRow.tenant == tenant)
    )


async def _one(
    connection: AsyncConnection, tenant: str, interaction_id: str
) -> EscalationRecord | None:
    row = (await connection.execute(one(tenant, interaction_id))).first()
    return None if row is None else _record(row)


def _record(row: Row[EscalationRow, str]) -> EscalationRecord:
    return EscalationRecord(
        interaction_id=InteractionId(row.interaction_id),
        tenant=row.tenant,
        channel=row.channel,
        state=row.state,
        reason=row.reason,
        question=row.question,
        owner=row.owner,
        opened_at=row.opened_at,
        changed_at=row.changed_at,
    )

"""The pause of a tenant: set, lifted and read at every admission, so that it holds at once."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Insert, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from bot.domain.json_codec import storable
from bot.domain.usage import Pause
from bot.store.audits import audited
from bot.store.tables import PauseRow
from bot.store.transactions import Transactions

_SUBJECT = "answers"


class StoredPauses:
    """Implements bot.limits.limits.KnowsPause; each change leaves an audit row with it."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def pause(self, tenant: str, reason: str, by: str) -> Pause:
        """Stop answering; during a pause, change its reason. Return the pause as it is now."""
        row = {"tenant": tenant, "reason": storable(reason), "paused_by": storable(by)}
        async with self._transactions.writing() as connection:
            await connection.execute(_set(self._transactions.dialect, {**row, "since": _now()}))
            await connection.execute(audited(tenant, by, "pause", _SUBJECT, detail=reason))
            since = await connection.scalar(select(PauseRow.since).where(PauseRow.tenant == tenant))
        return Pause(row["reason"], row["paused_by"], since or _now())

    async def resume(self, tenant: str, by: str) -> bool:
        """Answer again; return whether there was a pause."""
        lift = delete(PauseRow).where(PauseRow.tenant == tenant)
        async with self._transactions.writing() as connection:
            lifted = bool((await connection.execute(lift)).rowcount)
            if lifted:
                await connection.execute(audited(tenant, by, "resume", _SUBJECT))
        return lifted

    async def current(self, tenant: str) -> Pause | None:
        """Return the pause, None while questions are answered."""
        statement = select(PauseRow.reason, PauseRow.paused_by, PauseRow.since).where(
            PauseRow.tenant == tenant
        )
        async with self._transactions.reading() as connection:
            row = (await connection.execute(statement)).first()
        return None if row is None else Pause(row.reason, row.paused_by, row.since)


def _set(dialect: str, values: dict[str, object]) -> Insert:
    """Insert the pause; one that is there keeps its beginning."""
    changed = {key: values[key] for key in ("reason", "paused_by")}
    key = [PauseRow.tenant]
    if dialect == "postgresql":
        statement = postgresql.insert(PauseRow).values(**values)
        return statement.on_conflict_do_update(index_elements=key, set_=changed)
    return (
        sqlite.insert(PauseRow)
        .values(**values)
        .on_conflict_do_update(index_elements=key, set_=changed)
    )


def _now() -> datetime:
    return datetime.now(UTC)

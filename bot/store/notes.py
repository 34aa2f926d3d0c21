"""What adapters remember for all processes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy import Insert, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from bot.domain.json_codec import storable
from bot.domain.types import InteractionId
from bot.store.queries import insert_once
from bot.store.tables import NoteRow
from bot.store.transactions import Transactions


class StoredNotes:
    """Implements bot.domain.ports.Notes."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def get(self, tenant: str, key: str) -> str | None:
        statement = select(NoteRow.text).where(
            NoteRow.tenant == tenant, NoteRow.key == storable(key)
        )
        async with self._transactions.reading(urgent=True) as connection:
            return await connection.scalar(statement)

    async def put(
        self, tenant: str, key: str, text: str, *, interaction_id: InteractionId | None = None
    ) -> None:
        row = _row(tenant, key, text, interaction_id)
        async with self._transactions.writing() as connection:
            await connection.execute(_put(self._transactions.dialect, row))

    async def first(
        self, tenant: str, key: str, text: str = "", *, interaction_id: InteractionId | None = None
    ) -> bool:
        row = _row(tenant, key, text, interaction_id)
        async with self._transactions.writing() as connection:
            keep = insert_once(self._transactions.dialect, NoteRow, row).returning(NoteRow.key)
            return await connection.scalar(keep) is not None

    async def remove(self, tenant: str, key: str) -> None:
        statement = delete(NoteRow).where(NoteRow.tenant == tenant, NoteRow.key == storable(key))
        async with self._transactions.writing() as connection:
            await connection.execute(statement)

    async def beginning(self, tenant: str, prefix: str) -> Mapping[str, str]:
        statement = (
            select(NoteRow.key, NoteRow.text)
            .where(
                NoteRow.tenant == tenant,
                NoteRow.key.startswith(storable(prefix), autoescape=True),
            )
            .order_by(NoteRow.key)
        )
        async with self._transactions.reading() as connection:
            rows = (await connection.execute(statement)).all()
        # SQLite's LIKE takes a letter for its capital.
        return {key: text for key, text in rows if key.startswith(storable(prefix))}


def _row(
    tenant: str, key: str, text: str, interaction_id: InteractionId | None
) -> dict[str, object]:
    return {
        "tenant": tenant,
        "key": storable(key),
        "text": storable(text),
        "interaction_id": interaction_id,
        "at": datetime.now(UTC),
    }


def _put(dialect: str, values: Mapping[str, object]) -> Insert:
    """Insert a note or replace its text."""
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    changed = {key: values[key] for key in ("text", "interaction_id", "at")}
    key = [NoteRow.tenant, NoteRow.key]
    return make(NoteRow).values(**values).on_conflict_do_update(index_elements=key, set_=changed)

"""Key-value stores: notes of platform adapters, and web sessions.

All processes share them, so that any of them can serve the next request.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy import Delete, Insert, Select, delete, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from bot.domain.errors import StoreUnavailable
from bot.domain.json_codec import Codec, storable
from bot.domain.messages import InteractionId
from bot.domain.users import SignedIn
from bot.store.connections import Transactions
from bot.store.queries import insert_once
from bot.store.tables import NoteRow, SessionRow


class StoredNotes:
    """Stores short texts of platform adapters by key. Implements `bot.domain.ports.Notes`."""

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
        row = _note_row(tenant, key, text, interaction_id)
        async with self._transactions.writing() as connection:
            await connection.execute(_upsert_note(self._transactions.dialect, row))

    async def first(
        self, tenant: str, key: str, text: str = "", *, interaction_id: InteractionId | None = None
    ) -> bool:
        row = _note_row(tenant, key, text, interaction_id)
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
        # SQLite's LIKE ignores the case of ASCII letters.
        return {key: text for key, text in rows if key.startswith(storable(prefix))}


def _note_row(
    tenant: str, key: str, text: str, interaction_id: InteractionId | None
) -> dict[str, object]:
    return {
        "tenant": tenant,
        "key": storable(key),
        "text": storable(text),
        "interaction_id": interaction_id,
        "at": datetime.now(UTC),
    }


def _upsert_note(dialect: str, values: Mapping[str, object]) -> Insert:
    """Insert a note or replace its text."""
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    changed = {key: values[key] for key in ("text", "interaction_id", "at")}
    key = [NoteRow.tenant, NoteRow.key]
    return make(NoteRow).values(**values).on_conflict_do_update(index_elements=key, set_=changed)


SESSION_CODEC = Codec(SignedIn)


class StoredSessions:
    """Stores web sessions by the hash of the browser's session token."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def begin(
        self, tenant: str, session_id: str, signed_in: SignedIn, now: datetime, until: datetime
    ) -> None:
        statement = insert_session(tenant, session_id, SESSION_CODEC.encode(signed_in), now, until)
        async with self._transactions.writing() as connection:
            await connection.execute(statement)

    async def find(self, tenant: str, session_id: str, now: datetime) -> SignedIn | None:
        async with self._transactions.reading() as connection:
            found = (
                await connection.execute(select_valid_session(tenant, session_id, now))
            ).scalar_one_or_none()
        if found is None:
            return None
        try:
            return SESSION_CODEC.decode(found)
        except StoreUnavailable:
            # Another version wrote it: the user simply signs in again.
            return None

    async def end(self, tenant: str, session_id: str) -> None:
        async with self._transactions.writing() as connection:
            await connection.execute(delete_session(tenant, session_id))

    async def sweep(self, now: datetime) -> int:
        """Delete expired sessions; return how many."""
        async with self._transactions.writing(lasting=False) as connection:
            return (await connection.execute(delete_expired_sessions(now))).rowcount


def insert_session(
    tenant: str, session_id: str, person: str, now: datetime, until: datetime
) -> Insert:
    """Return the statement that inserts a session."""
    return insert(SessionRow).values(
        id=session_id, tenant=tenant, person=person, signed_in_at=now, until=until
    )


def select_valid_session(tenant: str, session_id: str, now: datetime) -> Select[str]:
    """Return the query for the user of a session that has not expired."""
    return select(SessionRow.person).where(
        SessionRow.id == session_id, SessionRow.tenant == tenant, SessionRow.until > now
    )


def delete_session(tenant: str, session_id: str) -> Delete:
    """Return the statement that deletes a session."""
    return delete(SessionRow).where(SessionRow.id == session_id, SessionRow.tenant == tenant)


def delete_expired_sessions(now: datetime) -> Delete:
    """Return the statement that deletes expired sessions."""
    return delete(SessionRow).where(SessionRow.until <= now)

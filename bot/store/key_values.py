"""Key-value stores: notes of platform adapters, and web sessions.

All processes share them, so that any of them can serve the next request.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy import delete, insert, select

from bot.domain.errors import StoreUnavailable
from bot.domain.json_codec import Codec, storable
from bot.domain.messages import InteractionId
from bot.domain.users import SignedIn
from bot.store.connections import Transactions
from bot.store.queries import insert_once, upsert
from bot.store.tables import NoteRow, SessionRow


class StoredNotes:
    """Stores short texts of platform adapters by key. Implements `bot.domain.ports.Notes`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def get(self, tenant: str, key: str) -> str | None:
        statement = select(NoteRow.text).where(
            NoteRow.tenant == tenant, NoteRow.key == storable(key)
        )
        return await self._transactions.scalar(statement, urgent=True)

    async def put(
        self, tenant: str, key: str, text: str, *, interaction_id: InteractionId | None = None
    ) -> None:
        row = _note_row(tenant, key, text, interaction_id)
        await self._transactions.execute(
            upsert(self._transactions.dialect, NoteRow, row, key=("tenant", "key"))
        )

    async def first(
        self, tenant: str, key: str, text: str = "", *, interaction_id: InteractionId | None = None
    ) -> bool:
        row = _note_row(tenant, key, text, interaction_id)
        async with self._transactions.writing() as connection:
            keep = insert_once(self._transactions.dialect, NoteRow, row).returning(NoteRow.key)
            return await connection.scalar(keep) is not None

    async def remove(self, tenant: str, key: str) -> None:
        statement = delete(NoteRow).where(NoteRow.tenant == tenant, NoteRow.key == storable(key))
        await self._transactions.execute(statement)

    async def beginning(self, tenant: str, prefix: str) -> Mapping[str, str]:
        statement = (
            select(NoteRow.key, NoteRow.text)
            .where(
                NoteRow.tenant == tenant,
                NoteRow.key.startswith(storable(prefix), autoescape=True),
            )
            .order_by(NoteRow.key)
        )
        rows = await self._transactions.rows(statement)
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


SESSION_CODEC = Codec(SignedIn)


class StoredSessions:
    """Stores web sessions by the hash of the browser's session token."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def begin(
        self, tenant: str, session_id: str, signed_in: SignedIn, now: datetime, until: datetime
    ) -> None:
        statement = insert(SessionRow).values(
            id=session_id,
            tenant=tenant,
            person=SESSION_CODEC.encode(signed_in),
            signed_in_at=now,
            until=until,
        )
        await self._transactions.execute(statement)

    async def find(self, tenant: str, session_id: str, now: datetime) -> SignedIn | None:
        found = await self._transactions.scalar(
            select(SessionRow.person).where(
                SessionRow.id == session_id, SessionRow.tenant == tenant, SessionRow.until > now
            )
        )
        if found is None:
            return None
        try:
            return SESSION_CODEC.decode(found)
        except StoreUnavailable:
            # Another version wrote it: the user simply signs in again.
            return None

    async def end(self, tenant: str, session_id: str) -> None:
        await self._transactions.execute(
            delete(SessionRow).where(SessionRow.id == session_id, SessionRow.tenant == tenant)
        )

    async def sweep(self, now: datetime) -> int:
        """Delete expired sessions; return how many."""
        return await self._transactions.execute(
            delete(SessionRow).where(SessionRow.until <= now), lasting=False
        )

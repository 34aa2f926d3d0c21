"""Who is signed in."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Delete, Insert, Select, delete, insert, select

from bot.domain.errors import StoreUnavailable
from bot.domain.json_codec import Codec
from bot.domain.users import SignedIn
from bot.store.tables import SessionRow
from bot.store.transactions import Transactions

SIGNED_IN = Codec(SignedIn)


class StoredSessions:
    """Keeps sessions under the hash of what the browser has."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def begin(
        self, tenant: str, session_id: str, signed_in: SignedIn, now: datetime, until: datetime
    ) -> None:
        statement = kept(tenant, session_id, SIGNED_IN.encode(signed_in), now, until)
        async with self._transactions.writing() as connection:
            await connection.execute(statement)

    async def find(self, tenant: str, session_id: str, now: datetime) -> SignedIn | None:
        async with self._transactions.reading() as connection:
            found = (await connection.execute(valid(tenant, session_id, now))).scalar_one_or_none()
        if found is None:
            return None
        try:
            return SIGNED_IN.decode(found)
        except StoreUnavailable:
            # Another version wrote it: its owner signs in again, which is all the cure it needs.
            return None

    async def end(self, tenant: str, session_id: str) -> None:
        async with self._transactions.writing() as connection:
            await connection.execute(ended(tenant, session_id))

    async def sweep(self, now: datetime) -> int:
        """Forget what is over; return how many."""
        async with self._transactions.writing(lasting=False) as connection:
            return (await connection.execute(over(now))).rowcount


def kept(tenant: str, session_id: str, person: str, now: datetime, until: datetime) -> Insert:
    """A new session."""
    return insert(SessionRow).values(
        id=session_id, tenant=tenant, person=person, signed_in_at=now, until=until
    )


def valid(tenant: str, session_id: str, now: datetime) -> Select[str]:
    """Who it is, unless it is over."""
    return select(SessionRow.person).where(
        SessionRow.id == session_id, SessionRow.tenant == tenant, SessionRow.until > now
    )


def ended(tenant: str, session_id: str) -> Delete:
    """One session less."""
    return delete(SessionRow).where(SessionRow.id == session_id, SessionRow.tenant == tenant)


def over(now: datetime) -> Delete:
    """All sessions whose time is over."""
    return delete(SessionRow).where(SessionRow.until <= now)

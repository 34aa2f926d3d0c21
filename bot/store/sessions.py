"""Store web sessions, so that every process knows who is signed in and which sessions ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, func, insert, or_, select, update

from bot.domain.errors import StoreUnavailable
from bot.domain.json_codec import Codec, storable
from bot.domain.users import SignedIn
from bot.store.connections import Transactions
from bot.store.key_values import insert_audit
from bot.store.tables import SessionRow

SESSION_CODEC = Codec(SignedIn)
ADMIN_TOKEN_ID = "admin"  # noqa: S105 - an id
"""The person id of sessions that the admin token began: it proves a role and no person."""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session: who, when the issuer last confirmed it, and its encrypted refresh token."""

    signed_in: SignedIn
    confirmed_at: datetime
    refresh_token: str = ""


@dataclass(frozen=True, slots=True)
class PersonSessions:
    """The number of open sessions of a person, who they are, and when the newest began."""

    person_id: str
    signed_in: SignedIn
    count: int
    newest: datetime


class StoredSessions:
    """Stores web sessions by the hash of the browser's session token."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def begin(
        self,
        tenant: str,
        session_id: str,
        signed_in: SignedIn,
        now: datetime,
        until: datetime,
        *,
        refresh_token: str = "",
    ) -> None:
        statement = insert(SessionRow).values(
            id=session_id,
            tenant=tenant,
            person=SESSION_CODEC.encode(signed_in),
            person_id=_person_id(signed_in),
            signed_in_at=now,
            until=until,
            confirmed_at=now,
            refresh_token=refresh_token,
        )
        await self._transactions.execute(statement)

    async def find(self, tenant: str, session_id: str, now: datetime) -> StoredSession | None:
        row = SessionRow
        found = await self._transactions.first(
            select(row.person, row.confirmed_at, row.signed_in_at, row.refresh_token).where(
                _is(tenant, session_id), row.until > now
            )
        )
        if found is None:
            return None
        signed_in = _decoded(found.person)
        if signed_in is None:
            return None
        confirmed_at = found.confirmed_at or found.signed_in_at
        return StoredSession(signed_in, confirmed_at, found.refresh_token)

    async def claim(self, tenant: str, session_id: str, now: datetime, until: datetime) -> bool:
        """Reserve the question to the issuer until a time; False if another process has it.

        A refresh token may be valid once, so that two processes must not use the same one.
        """
        row = SessionRow
        free = or_(row.asked_until.is_(None), row.asked_until <= now)
        claimed = update(row).where(_is(tenant, session_id), free).values(asked_until=until)
        return bool(await self._transactions.execute(claimed))

    async def confirm(self, tenant: str, session_id: str, session: StoredSession) -> bool:
        """Store what the issuer says now; return False if the session was ended meanwhile."""
        statement = (
            update(SessionRow)
            .where(_is(tenant, session_id))
            .values(
                person=SESSION_CODEC.encode(session.signed_in),
                confirmed_at=session.confirmed_at,
                refresh_token=session.refresh_token,
                asked_until=None,
            )
        )
        return bool(await self._transactions.execute(statement))

    async def end(self, tenant: str, session_id: str) -> None:
        await self._transactions.execute(delete(SessionRow).where(_is(tenant, session_id)))

    async def people(self, tenant: str, now: datetime) -> Sequence[PersonSessions]:
        """Return who has open sessions, newest first."""
        row = SessionRow
        newest = func.max(row.signed_in_at)
        rows = await self._transactions.rows(
            select(row.person_id, func.max(row.person), func.count(), newest)
            .where(row.tenant == tenant, row.until > now)
            .group_by(row.person_id)
            .order_by(newest.desc(), row.person_id)
        )
        decoded = ((each, _decoded(each[1])) for each in rows)
        return [
            PersonSessions(person_id, signed_in, count, newest)
            for (person_id, _, count, newest), signed_in in decoded
            if signed_in is not None
        ]

    async def end_all(self, tenant: str, person_id: str, *, actor: str) -> int:
        """End all sessions of a person, with an audit entry; return how many."""
        theirs = and_(SessionRow.tenant == tenant, SessionRow.person_id == storable(person_id))
        async with self._transactions.writing() as connection:
            ended = (await connection.execute(delete(SessionRow).where(theirs))).rowcount
            if ended:
                await connection.execute(
                    insert_audit(tenant, actor, "end sessions", person_id, detail=str(ended))
                )
        return ended

    async def sweep(self, now: datetime) -> int:
        """Delete expired sessions; return how many."""
        return await self._transactions.execute(
            delete(SessionRow).where(SessionRow.until <= now), lasting=False
        )


def _is(tenant: str, session_id: str) -> ColumnElement[bool]:
    return and_(SessionRow.tenant == tenant, SessionRow.id == session_id)


def _person_id(signed_in: SignedIn) -> str:
    return ADMIN_TOKEN_ID if signed_in.person is None else storable(signed_in.person.id)


def _decoded(person: str) -> SignedIn | None:
    try:
        return SESSION_CODEC.decode(person)
    except StoreUnavailable:
        # Another version wrote it: the user simply signs in again.
        return None

"""Small tables by key: adapters' notes, channel policies, pauses; the audit trail.

All processes share them, so that any of them can serve the next request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TypeAlias

from sqlalchemy import Insert, Select, bindparam, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.json_codec import Codec, storable
from bot.domain.messages import InteractionId, Policy
from bot.domain.record_reports import AuditRecord, PolicyRecord
from bot.domain.usage import Pause
from bot.store.connections import Transactions
from bot.store.queries import insert_once, upsert
from bot.store.rows import utc_now
from bot.store.tables import AuditRow, EscalationStepRow, NoteRow, PauseRow, PolicyRow


class StoredNotes:
    """Stores short texts of platform adapters by key. Implements `bot.domain.ports.Notes`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def get(self, tenant: str, key: str) -> str | None:
        values = {"tenant": tenant, "key": storable(key)}
        return await self._transactions.scalar(_select_note(), values, urgent=True)

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


@cache
def _select_note() -> Select[str]:
    return select(NoteRow.text).where(
        NoteRow.tenant == bindparam("tenant"), NoteRow.key == bindparam("key")
    )


def _note_row(
    tenant: str, key: str, text: str, interaction_id: InteractionId | None
) -> dict[str, object]:
    return {
        "tenant": tenant,
        "key": storable(key),
        "text": storable(text),
        "interaction_id": interaction_id,
        "at": utc_now(),
    }


_Asked: TypeAlias = tuple[str, str, "asyncio.Future[str | None]"]
"""A tenant, a channel, and what becomes the text of its policy."""

_MOST_AT_ONCE = 64


class _GroupedPolicyReads:
    """Reads policies in groups: what is asked for at the same time, by one query.

    Each message's policy is read before it is acknowledged, and on SQLite each query waits for its
    turn. What is asked for while a group is being read is the next group; nothing is kept.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._asked: list[_Asked] = []
        self._reading: asyncio.Task[None] | None = None

    async def text_of(self, tenant: str, channel: str) -> str | None:
        """Return the text of a channel's policy; None if none is set."""
        found: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._asked.append((tenant, channel, found))
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        return await found

    async def _read(self) -> None:
        while self._asked:
            group, self._asked = self._asked[:_MOST_AT_ONCE], self._asked[_MOST_AT_ONCE:]
            try:
                await self._read_group(group)
            except asyncio.CancelledError:
                for _, _, found in [*group, *self._asked]:
                    found.cancel()
                self._asked = []
                raise
            except Exception as error:  # noqa: BLE001 - it is raised to whoever waits
                for _, _, found in group:
                    if not found.done():
                        found.set_exception(error)

    async def _read_group(self, group: Sequence[_Asked]) -> None:
        values = {
            "tenants": sorted({tenant for tenant, _, _ in group}),
            "channels": sorted({channel for _, channel, _ in group}),
        }
        rows = await self._transactions.rows(_select_policies(), values, urgent=True)
        policies = {(tenant, channel): text for tenant, channel, text in rows}
        for tenant, channel, found in group:
            if not found.done():
                found.set_result(policies.get((tenant, channel)))


@cache
def _select_policies() -> Select[str, str, str]:
    row = PolicyRow
    return select(row.tenant, row.channel, row.policy).where(
        row.tenant.in_(bindparam("tenants", expanding=True)),
        row.channel.in_(bindparam("channels", expanding=True)),
    )


class StoredPolicies:
    """Stores the policies of channels. Implements `bot.domain.ports.Policies`.

    Each change writes an audit row in its transaction.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._reads = _GroupedPolicyReads(transactions)
        self._codec = Codec(Policy)

    async def of(self, tenant: str, channel: str) -> Policy | None:
        text = await self._reads.text_of(tenant, storable(channel))
        return None if text is None else self._codec.decode(text)

    async def channels(self, tenant: str) -> Sequence[str]:
        return [each.channel for each in await self.all(tenant)]

    async def all(self, tenant: str) -> Sequence[PolicyRecord]:
        """Return the policies of all channels that have one, ordered by channel name."""
        row = PolicyRow
        rows = await self._transactions.rows(
            select(row.channel, row.policy, row.changed_by, row.changed_at)
            .where(row.tenant == tenant)
            .order_by(row.channel)
        )
        return [
            PolicyRecord(channel, self._codec.decode(text), changed_by, changed_at)
            for channel, text, changed_by, changed_at in rows
        ]

    async def set(
        self,
        tenant: str,
        channel: str,
        allowed: Policy,
        *,
        actor: str,
        instead_of: Policy | None = None,
    ) -> bool:
        text = self._codec.encode(allowed)
        row = {
            "tenant": tenant,
            "channel": storable(channel),
            "policy": text,
            "changed_by": storable(actor),
            "changed_at": utc_now(),
        }
        async with self._transactions.writing() as connection:
            if instead_of is not None and not await self._holds(connection, row, instead_of):
                return False
            await connection.execute(
                upsert(self._transactions.dialect, PolicyRow, row, key=("tenant", "channel"))
            )
            await connection.execute(
                insert_audit(tenant, actor, "set policy", channel, detail=text)
            )
        return True

    async def _holds(
        self, connection: AsyncConnection, row: Mapping[str, object], policy: Policy
    ) -> bool:
        """Lock the policy of a row's channel; return whether it is ``policy``."""
        if policy == Policy():
            # A channel without a row has this one, and only a row can be locked.
            usual = {**row, "policy": self._codec.encode(policy)}
            await connection.execute(insert_once(self._transactions.dialect, PolicyRow, usual))
        kept = select(PolicyRow.policy).where(
            PolicyRow.tenant == row["tenant"], PolicyRow.channel == row["channel"]
        )
        text = await connection.scalar(kept.with_for_update())
        return text is not None and self._codec.decode(text) == policy

    async def remove(self, tenant: str, channel: str, *, actor: str) -> bool:
        """Remove a channel's policy; return whether it had one."""
        statement = delete(PolicyRow).where(
            PolicyRow.tenant == tenant, PolicyRow.channel == storable(channel)
        )
        async with self._transactions.writing() as connection:
            gone = await connection.execute(statement)
            if gone.rowcount:
                await connection.execute(insert_audit(tenant, actor, "clear policy", channel))
        return bool(gone.rowcount)


class StoredAudits:
    """Stores the audit trail; rows are never deleted, and only unnamed (bot.store.forgetting)."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def append(
        self, tenant: str, actor: str, act: str, subject: str, *, detail: str = ""
    ) -> None:
        """Record an act (32 characters at most) of ``actor``, such as ``cli:NAME``."""
        await self._transactions.execute(insert_audit(tenant, actor, act, subject, detail=detail))

    async def newest(
        self, tenant: str, limit: int, before: int | None = None
    ) -> Sequence[AuditRecord]:
        """Return the last audit records, newest first; with ``before``, those below a number."""
        row = AuditRow
        statement = (
            select(row.number, row.at, row.actor, row.act, row.subject, row.detail)
            .where(row.tenant == tenant)
            .order_by(row.number.desc())
            .limit(limit)
        )
        if before is not None:
            statement = statement.where(row.number < before)
        rows = await self._transactions.rows(statement)
        called = await self._transactions.rows(_select_actor_names([row.subject for row in rows]))
        by_act = {(case, actor): name for case, actor, name in called}
        return [AuditRecord(*row, name=by_act.get((row.subject, row.actor), "")) for row in rows]


def insert_audit(tenant: str, actor: str, act: str, subject: str, *, detail: str = "") -> Insert:
    """Return the statement that inserts an audit row; run it in the change's own transaction."""
    return insert(AuditRow).values(
        tenant=tenant,
        at=utc_now(),
        actor=storable(actor),
        act=act,
        subject=storable(subject),
        detail=storable(detail),
    )


def _select_actor_names(cases: Sequence[str]) -> Select[str, str, str]:
    """Return the query for the names of actors on escalations, by case and actor id."""
    row = EscalationStepRow
    return (
        select(row.interaction_id, row.actor, func.max(row.actor_name))
        .where(row.interaction_id.in_(cases))
        .group_by(row.interaction_id, row.actor)
    )


_AUDIT_SUBJECT = "answers"


class StoredPauses:
    """Pauses and resumes answering per tenant.

    Each change writes an audit row in its transaction.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def pause(self, tenant: str, reason: str, by: str) -> Pause:
        """Pause answering, or change the reason of a pause; return the current pause."""
        row = {"tenant": tenant, "reason": storable(reason), "paused_by": storable(by)}
        async with self._transactions.writing() as connection:
            await connection.execute(
                upsert(
                    self._transactions.dialect,
                    PauseRow,
                    {**row, "since": utc_now()},
                    key=("tenant",),
                    changed=("reason", "paused_by"),
                )
            )
            await connection.execute(
                insert_audit(tenant, by, "pause", _AUDIT_SUBJECT, detail=reason)
            )
            since = await connection.scalar(select(PauseRow.since).where(PauseRow.tenant == tenant))
        return Pause(row["reason"], row["paused_by"], since or utc_now())

    async def resume(self, tenant: str, by: str) -> bool:
        """End the pause; return whether there was one."""
        lift = delete(PauseRow).where(PauseRow.tenant == tenant)
        async with self._transactions.writing() as connection:
            lifted = bool((await connection.execute(lift)).rowcount)
            if lifted:
                await connection.execute(insert_audit(tenant, by, "resume", _AUDIT_SUBJECT))
        return lifted

    async def current(self, tenant: str) -> Pause | None:
        """Return the current pause; None if answering is not paused."""
        row = await self._transactions.first(_select_pause(), {"tenant": tenant})
        return None if row is None else Pause(*row)


@cache
def _select_pause() -> Select[str, str, datetime]:
    row = PauseRow
    return select(row.reason, row.paused_by, row.since).where(row.tenant == bindparam("tenant"))

"""Read the policies of channels in groups: what is asked for at the same time, by one query.

Each message's is read before it is acknowledged, and on SQLite each query waits for its turn.
Nothing is kept: a read begins after it was asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

from sqlalchemy import Select, bindparam, select

from bot.store.connections import Transactions
from bot.store.tables import PolicyRow

_Asked: TypeAlias = tuple[str, str, "asyncio.Future[str | None]"]
"""A tenant, a channel, and what becomes the text of its policy."""

_MOST_AT_ONCE = 64


class GroupedPolicyReads:
    """Reads policies; what is asked for while a group is being read is the next group."""

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

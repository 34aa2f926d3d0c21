"""Which server processes are alive: each holds a lease and prolongs it."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from bot.store import claims
from bot.store.tables import ReplicaRow
from bot.store.transactions import Transactions


class StoredReplicas:
    """Leases on the database's clock, so that replicas on several hosts agree."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def prolong(self, replica: str, *, seconds: float) -> None:
        """Begin or prolong a lease."""
        host = socket.gethostname()
        statement = claims.lease(self._transactions.dialect, replica, host, seconds)
        async with self._transactions.writing(lasting=False) as connection:
            await connection.execute(statement)

    async def release(self, replica: str) -> None:
        """End a lease, so that others take over at once."""
        async with self._transactions.writing(lasting=False) as connection:
            await connection.execute(claims.release(replica))

    async def bury(self, replica: str) -> None:
        """Forget a process whose lease has run out, unless it came back."""
        async with self._transactions.writing(lasting=False) as connection:
            await connection.execute(claims.bury(replica, self._transactions.dialect))

    async def alone(self, replica: str) -> None:
        """End all leases but one, where only one process can be."""
        async with self._transactions.writing(lasting=False) as connection:
            await connection.execute(claims.others(replica))

    async def dead(self) -> Sequence[str]:
        """Return the processes whose lease has run out."""
        async with self._transactions.reading() as connection:
            return list(await connection.scalars(claims.dead(self._transactions.dialect)))

    async def living(self) -> Sequence[str]:
        """Return the processes that are alive."""
        async with self._transactions.reading() as connection:
            statement = claims.living(self._transactions.dialect).order_by(ReplicaRow.started_at)
            return list(await connection.scalars(statement))

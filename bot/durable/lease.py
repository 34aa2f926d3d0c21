"""The lease of this process: while it holds, nobody else takes its work."""

from __future__ import annotations

import time
from typing import Protocol

_MARGIN_SECONDS = 2.0
"""Clocks and pauses: this process stops posting before others may take over."""


class Replicas(Protocol):
    """Who is alive, in the record. Raises bot.domain.errors.StoreUnavailable."""

    async def prolong(self, replica: str, *, seconds: float) -> None: ...

    async def release(self, replica: str) -> None: ...

    async def alone(self, replica: str) -> None: ...


class Lease:
    """Prolonged every few seconds; measured on the monotonic clock from before it was asked for.

    Args:
        replicas: Where leases are kept.
        replica: The unique name of this process.
        alone: Whether a lock on the data directory keeps others away; then it always holds.
        seconds: How long it lasts.
    """

    def __init__(
        self, replicas: Replicas, replica: str, *, alone: bool, seconds: float = 12.0
    ) -> None:
        self._replicas = replicas
        self._replica = replica
        self._alone = alone
        self._seconds = seconds
        self._until = 0.0

    def holds(self) -> bool:
        """Tell whether this process may still act on its claims."""
        return self._alone or time.monotonic() < self._until - _MARGIN_SECONDS

    async def prolong(self) -> None:
        """Begin or prolong the lease. Raises StoreUnavailable."""
        asked_at = time.monotonic()
        if self._alone:
            await self._replicas.alone(self._replica)
        await self._replicas.prolong(self._replica, seconds=self._seconds)
        self._until = asked_at + self._seconds

    async def release(self) -> None:
        """Let others take over at once."""
        self._until = 0.0
        await self._replicas.release(self._replica)

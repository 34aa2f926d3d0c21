"""Notes in memory, for processes that share them."""

from __future__ import annotations

from collections.abc import Mapping

from bot.domain.errors import StoreUnavailable
from bot.domain.messages import InteractionId


class SharedNotes:
    """Implements bot.domain.ports.Notes. ``writes`` counts what was put or removed."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], str] = {}
        self.writes = 0
        self.broken = False

    async def get(self, tenant: str, key: str) -> str | None:
        self._check()
        return self.texts.get((tenant, key))

    async def put(
        self,
        tenant: str,
        key: str,
        text: str,
        *,
        interaction_id: InteractionId | None = None,
    ) -> None:
        self._check()
        self.writes += 1
        self.texts[tenant, key] = text

    async def first(
        self,
        tenant: str,
        key: str,
        text: str = "",
        *,
        interaction_id: InteractionId | None = None,
    ) -> bool:
        self._check()
        new = (tenant, key) not in self.texts
        self.writes += new
        self.texts.setdefault((tenant, key), text)
        return new

    async def remove(self, tenant: str, key: str) -> None:
        self._check()
        self.writes += 1
        self.texts.pop((tenant, key), None)

    async def beginning(self, tenant: str, prefix: str) -> Mapping[str, str]:
        self._check()
        return {
            key: text
            for (whose, key), text in sorted(self.texts.items())
            if whose == tenant and key.startswith(prefix)
        }

    def _check(self) -> None:
        if self.broken:
            raise StoreUnavailable("The record is away.")

"""Fake what learning needs from the record."""

from __future__ import annotations

from collections.abc import Mapping

from bot.domain.messages import InteractionId


class MemoryNotes:
    """Implements bot.domain.ports.Notes in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    async def get(self, tenant: str, key: str) -> str | None:
        return self.kept.get((tenant, key))

    async def put(
        self, tenant: str, key: str, text: str, *, interaction_id: InteractionId | None = None
    ) -> None:
        self.kept[tenant, key] = text

    async def first(
        self, tenant: str, key: str, text: str = "", *, interaction_id: InteractionId | None = None
    ) -> bool:
        new = (tenant, key) not in self.kept
        self.kept.setdefault((tenant, key), text)
        return new

    async def remove(self, tenant: str, key: str) -> None:
        self.kept.pop((tenant, key), None)

    async def beginning(self, tenant: str, prefix: str) -> Mapping[str, str]:
        found = {key: text for (of, key), text in self.kept.items() if of == tenant}
        return {key: found[key] for key in sorted(found) if key.startswith(prefix)}

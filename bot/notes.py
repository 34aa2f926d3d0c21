"""Notes that nobody keeps, for processes without a record."""

from __future__ import annotations

from collections.abc import Mapping

from bot.types import InteractionId


class Forgetful:
    """Implements bot.ports.Notes; everything is new to it."""

    async def get(self, tenant: str, key: str) -> str | None:  # noqa: ARG002 - the port names them
        return None

    async def put(
        self, tenant: str, key: str, text: str, *, interaction_id: InteractionId | None = None
    ) -> None:
        """Keep nothing."""

    async def first(
        self,
        tenant: str,  # noqa: ARG002 - the port names them
        key: str,  # noqa: ARG002
        text: str = "",  # noqa: ARG002
        *,
        interaction_id: InteractionId | None = None,  # noqa: ARG002
    ) -> bool:
        return True

    async def remove(self, tenant: str, key: str) -> None:
        """Have nothing to remove."""

    async def beginning(self, tenant: str, prefix: str) -> Mapping[str, str]:  # noqa: ARG002
        return {}

"""Messages of channels and group chats that were deleted before they came."""

from __future__ import annotations

from collections.abc import Sequence

from bot.office import Office
from bot.types import Message

_KEPT = 50
"""In one conversation; what is deleted and comes yet, comes soon."""


class Deleted:
    """Remembers what was deleted there and is not known, for all processes.

    Most of it is talk that nobody asked the bot about, so it is not recorded as questions; in a
    personal chat everything is one. Raises StoreUnavailable.
    """

    def __init__(self, office: Office) -> None:
        self._notes = office.notes
        self._tenant = office.tenant

    async def note(self, message: Message) -> None:
        """Remember that a message is gone."""
        ids = [each for each in await self._ids(message) if each != message.id]
        await self._notes.put(self._tenant, _key(message), " ".join([*ids, message.id][-_KEPT:]))

    async def forget(self, message: Message) -> None:
        """Take back that a message is gone."""
        ids = await self._ids(message)
        if message.id in ids:
            left = [each for each in ids if each != message.id]
            await self._notes.put(self._tenant, _key(message), " ".join(left))

    async def has(self, message: Message) -> bool:
        """Tell whether a message is gone."""
        return not message.private and message.id in await self._ids(message)

    async def _ids(self, message: Message) -> Sequence[str]:
        return (await self._notes.get(self._tenant, _key(message)) or "").split()


def _key(message: Message) -> str:
    return f"teams:deleted:{message.thread.channel}"

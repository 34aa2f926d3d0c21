"""Messages of channels and group chats that were deleted before they came."""

from __future__ import annotations

import time
from collections.abc import Callable

from bot.chat.adapters import ChatContext
from bot.domain.types import Message

_KEPT = 50
"""In one conversation; what is deleted and comes yet, comes soon."""


class Deleted:
    """Remembers what was deleted there and is not known, for all processes.

    Most of it is talk that nobody asked the bot about, so it is not recorded as questions; in a
    personal chat everything is one. Each has a note of its own: two that are deleted at the same
    time must not overwrite each other. Raises StoreUnavailable.
    """

    def __init__(self, office: ChatContext, *, clock: Callable[[], float] = time.time) -> None:
        self._notes = office.notes
        self._tenant = office.tenant
        self._clock = clock

    async def note(self, message: Message) -> None:
        """Remember that a message is gone, and forget what has long been so."""
        await self._notes.put(self._tenant, _key(message), f"{self._clock():020.6f}")
        noted = await self._notes.beginning(self._tenant, _room(message))
        newest_first = sorted(noted, key=lambda key: noted[key], reverse=True)
        for key in newest_first[_KEPT:]:
            await self._notes.remove(self._tenant, key)

    async def forget(self, message: Message) -> None:
        """Take back that a message is gone."""
        await self._notes.remove(self._tenant, _key(message))

    async def has(self, message: Message) -> bool:
        """Tell whether a message is gone."""
        if message.private:
            return False
        return await self._notes.get(self._tenant, _key(message)) is not None


def _key(message: Message) -> str:
    return f"{_room(message)}{message.id}"


def _room(message: Message) -> str:
    return f"teams:deleted:{message.thread.channel}:"

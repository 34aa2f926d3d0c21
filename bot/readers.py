"""What people on a platform may read now: everyone's pages in a channel, their own in private."""

from __future__ import annotations

from bot.capabilities import Introduces
from bot.errors import DeliveryFailed
from bot.ports import Directory
from bot.types import Message
from rag.types import EVERYONE, Principal

EVERYBODY = frozenset({EVERYONE})
"""A channel reads what everyone may read."""


class Readers:
    """Asks the platform who somebody is; what it does not vouch for may not be read.

    ``directory`` tells what they may read, as at admission.
    """

    def __init__(self, people: Introduces, directory: Directory) -> None:
        self._people = people
        self._directory = directory

    async def of_thread(self, message: Message) -> frozenset[Principal]:
        """Return what everybody who sees a thread may read."""
        if not message.private:
            return EVERYBODY
        try:
            return await self.of_asker(message)
        except DeliveryFailed:
            return EVERYBODY

    async def of_asker(self, message: Message) -> frozenset[Principal]:
        """Return what the asker may read, for their eyes alone. Raises DeliveryFailed."""
        told = await self._people.introduce(message)
        if told.outsiders:
            return EVERYBODY
        tenant = message.thread.tenant
        return await self._directory.principals(tenant, told.author) | EVERYBODY

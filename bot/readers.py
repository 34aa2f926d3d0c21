"""What people on a platform may read now: everyone's pages in a channel, their own in private."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from bot.domain.capabilities import Introduces
from bot.domain.errors import DeliveryFailed
from bot.domain.ports import Directory
from bot.domain.types import Message
from rag.types import EVERYONE, Chunk, Principal

EVERYBODY = frozenset({EVERYONE})
"""A channel reads what everyone may read."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What somebody may read: pages open to ``principals``, in ``spaces``; None: in every one."""

    principals: frozenset[Principal]
    spaces: frozenset[str] | None = None

    def among(self, found: Mapping[str, Chunk]) -> Mapping[str, Chunk]:
        """Return those of the passages open to the principals that are in these spaces."""
        if self.spaces is None:
            return found
        return {name: chunk for name, chunk in found.items() if chunk.space in self.spaces}


NOTHING = Reader(EVERYBODY, frozenset())


class Readers:
    """Asks the platform who somebody is; what it does not vouch for may not be read.

    Args:
        people: The platform.
        directory: Tells what people may read, as at admission.
        open_spaces: What may be read where outsiders ask or read along; nothing else.
    """

    def __init__(
        self, people: Introduces, directory: Directory, *, open_spaces: Collection[str]
    ) -> None:
        self._people = people
        self._directory = directory
        self._outsiders = Reader(EVERYBODY, frozenset(open_spaces))

    async def of_thread(self, message: Message) -> Reader:
        """Return what everybody who sees a thread may read; nothing while that is not known."""
        try:
            asker = await self.of_asker(message)
        except DeliveryFailed:
            return NOTHING
        return asker if message.private else Reader(EVERYBODY, asker.spaces)

    async def of_asker(self, message: Message) -> Reader:
        """Return what the asker may read, for their eyes alone. Raises DeliveryFailed."""
        told = await self._people.introduce(message)
        if told.outsiders:
            return self._outsiders
        tenant = message.thread.tenant
        return Reader(await self._directory.principals(tenant, told.author) | EVERYBODY)

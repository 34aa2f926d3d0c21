"""Who asks, as their platform vouches for them, and whether people from outside read along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import structlog

from bot.capabilities import Introduces
from bot.errors import DeliveryFailed
from bot.ports import Notes
from bot.types import Message, Person, Platform, Refusal
from rag.types import EVERYONE

_log = structlog.get_logger(__name__)

_SHUT = (
    "I don't answer where people from outside the company ask or read along. Colleagues can reach "
    "me in a direct message."
)
_UNSURE = (
    "I can't tell just now who reads along here, so I don't answer. Please ask again in a minute, "
    "or ask your help desk directly."
)
_NOT_INTRODUCED = "the platform did not say who asks: answered from what everyone may read"
_OUTSIDERS = "people from outside ask or read along: answered from what everyone may read"
_EVERYONE_ONLY = frozenset({EVERYONE})


@dataclass(frozen=True, slots=True)
class Introduced:
    """Who asks; ``open`` says that they may read more than everyone may.

    ``recorded`` is who is kept as the asker, None where the message said all that is known.
    """

    author: Person
    open: bool = True
    recorded: Person | None = None
    notes: tuple[str, ...] = ()


class Introductions:
    """Asks the platforms that know their people; on the others the message itself says who asks.

    Args:
        platforms: Those that know more than a message says.
        closed: Those that are not answered where outsiders ask or read along.
        notes: Remembers who was told so: it is said once in a channel to each person.
    """

    def __init__(
        self, platforms: Mapping[Platform, Introduces], *, closed: frozenset[Platform], notes: Notes
    ) -> None:
        self._platforms = platforms
        self._closed = closed
        self._notes = notes

    async def of(self, message: Message) -> Introduced | Refusal:
        """Tell who asks; one whom their platform does not introduce may read what everyone may.

        Raises StoreUnavailable.
        """
        platform = self._platforms.get(message.thread.platform)
        if platform is None:
            return Introduced(message.author)
        try:
            told = await platform.introduce(message)
        except DeliveryFailed as error:
            _log.warning(
                "introduction_failed", interaction_id=message.interaction_id, why=str(error)
            )
            return self._unsure(message)
        if not told.outsiders:
            return Introduced(told.author, recorded=told.author)
        if message.thread.platform in self._closed:
            return Refusal(_SHUT, "outsiders", silent=not await self._to_be_told(message))
        author = replace(told.author, principals=_EVERYONE_ONLY)
        return Introduced(author, open=False, recorded=author, notes=(_OUTSIDERS,))

    def _unsure(self, message: Message) -> Introduced | Refusal:
        if message.thread.platform in self._closed:
            return Refusal(_UNSURE, "outsiders_not_known")
        author = replace(message.author, email=None, principals=_EVERYONE_ONLY)
        return Introduced(author, open=False, notes=(_NOT_INTRODUCED,))

    async def _to_be_told(self, message: Message) -> bool:
        """Tell whether this is the message on which its author is told; the same when run again."""
        thread, interaction = message.thread, message.interaction_id
        key = f"{thread.platform}:outsiders:{thread.channel}:{message.author.id}"
        if await self._notes.first(thread.tenant, key, interaction, interaction_id=interaction):
            return True
        return await self._notes.get(thread.tenant, key) == interaction

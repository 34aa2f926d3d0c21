"""Who asks, as their platform vouches for them, and whether people from outside read along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.domain.capabilities import Introduces
from bot.domain.errors import AskerUnknown, DeliveryFailed
from bot.domain.ports import Notes
from bot.domain.types import Message, Person, Platform, Refusal
from rag.types import EVERYONE

_STRANGER = (
    "I'm sorry, I only answer this company's own people. Please ask the person here whom you work "
    "with."
)
_READ_ALONG = (
    "People from outside the company read along here, so I don't answer. Please ask me in a direct "
    "message."
)
_UNSURE = (
    "I can't tell just now who reads along here, so I don't answer. Please ask again in a minute, "
    "or ask your help desk directly."
)
_OUTSIDERS = "people from outside ask or read along: answered from the spaces open to them, {}"
_EVERYONE_ONLY = frozenset({EVERYONE})

UNSURE = Refusal(_UNSURE, "outsiders_not_known")
"""What an asker is told when their platform could not tell for too long."""


@dataclass(frozen=True, slots=True)
class Introduced:
    """Who asks; ``open`` says that they may read more than everyone may.

    ``recorded`` is who is kept as the asker, None where the message said all that is known.
    ``spaces`` are those open to people from outside, where they ask or read along; else None.
    """

    author: Person
    open: bool = True
    recorded: Person | None = None
    notes: tuple[str, ...] = ()
    spaces: frozenset[str] | None = None


class Introductions:
    """Asks the platforms that know their people; on the others the message itself says who asks.

    Args:
        platforms: Those that know more than a message says.
        open_spaces: What is answered from where outsiders ask or read along. Without any space
            they are refused there, and so is everybody else.
        notes: Remembers who was told so: it is said once in a channel to each person.
    """

    def __init__(
        self,
        platforms: Mapping[Platform, Introduces],
        *,
        open_spaces: Mapping[Platform, frozenset[str]],
        notes: Notes,
    ) -> None:
        self._platforms = platforms
        self._open_spaces = open_spaces
        self._notes = notes

    async def of(self, message: Message) -> Introduced | Refusal:
        """Tell who asks; nobody is answered while their platform can't tell.

        Raises AskerUnknown, StoreUnavailable.
        """
        platform = self._platforms.get(message.thread.platform)
        if platform is None:
            return Introduced(message.author)
        try:
            told = await platform.introduce(message)
        except DeliveryFailed as error:
            raise AskerUnknown(
                f"{message.thread.platform} did not say who asks: {error}"
            ) from error
        if not told.outsiders:
            return Introduced(told.author, recorded=told.author)
        spaces = self._open_spaces.get(message.thread.platform)
        if not spaces:
            text = _STRANGER if told.author.outsider else _READ_ALONG
            return Refusal(text, "outsiders", silent=not await self._to_be_told(message))
        author = replace(told.author, principals=_EVERYONE_ONLY)
        note = _OUTSIDERS.format(", ".join(sorted(spaces)))
        return Introduced(author, open=False, recorded=author, notes=(note,), spaces=spaces)

    async def _to_be_told(self, message: Message) -> bool:
        """Tell whether this is the message on which its author is told; the same when run again."""
        if message.overheard:
            # Nobody is told anything then; it must not count as the one time.
            return False
        thread, interaction = message.thread, message.interaction_id
        key = f"{thread.platform}:outsiders:{thread.channel}:{message.author.id}"
        if await self._notes.first(thread.tenant, key, interaction, interaction_id=interaction):
            return True
        return await self._notes.get(thread.tenant, key) == interaction

"""Identify who asks, as their platform vouches for them, and what they may read now.

A channel reads what everyone may read, a private conversation what its asker may. Where people
from outside ask or read along, only the spaces open to them count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from bot.domain.capabilities import Introduces
from bot.domain.errors import AskerUnknown, DeliveryFailed
from bot.domain.messages import Message, Person, Platform, Refusal
from bot.domain.ports import Directory, Notes
from rag.types import EVERYONE, Chunk, Principal

EVERYONE_PRINCIPALS = frozenset({EVERYONE})
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


READS_NOTHING = Reader(EVERYONE_PRINCIPALS, frozenset())


class ReaderLookup:
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
        self._outsiders = Reader(EVERYONE_PRINCIPALS, frozenset(open_spaces))

    async def of_thread(self, message: Message) -> Reader:
        """Return what everybody who sees a thread may read; nothing while that is not known."""
        try:
            asker = await self.of_asker(message)
        except DeliveryFailed:
            return READS_NOTHING
        return asker if message.private else Reader(EVERYONE_PRINCIPALS, asker.spaces)

    async def of_asker(self, message: Message) -> Reader:
        """Return what the asker may read, for their eyes alone. Raises DeliveryFailed."""
        told = await self._people.introduce(message)
        if told.outsiders:
            return self._outsiders
        tenant = message.thread.tenant
        return Reader(await self._directory.principals(tenant, told.author) | EVERYONE_PRINCIPALS)


_ASKER_IS_OUTSIDER = (
    "I'm sorry, I only answer this company's own people. Please ask the person here whom you work "
    "with."
)
_OUTSIDERS_READ_ALONG = (
    "People from outside the company read along here, so I don't answer. Please ask me in a direct "
    "message."
)
_OUTSIDERS_NOT_KNOWN_TEXT = (
    "I can't tell just now who reads along here, so I don't answer. Please ask again in a minute, "
    "or ask your help desk directly."
)
_OUTSIDERS_NOTE = "people from outside ask or read along: answered from the spaces open to them, {}"
_EVERYONE_ONLY = frozenset({EVERYONE})

OUTSIDERS_NOT_KNOWN = Refusal(_OUTSIDERS_NOT_KNOWN_TEXT, "outsiders_not_known")
"""What an asker is told when their platform could not tell for too long."""


@dataclass(frozen=True, slots=True)
class IdentifiedAsker:
    """Who asks; ``open`` says that they may read more than everyone may.

    ``recorded`` is who is kept as the asker, None where the message said all that is known.
    ``spaces`` are those open to people from outside, where they ask or read along; else None.
    """

    author: Person
    open: bool = True
    recorded: Person | None = None
    notes: tuple[str, ...] = ()
    spaces: frozenset[str] | None = None


class AskerIdentification:
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

    async def of(self, message: Message) -> IdentifiedAsker | Refusal:
        """Tell who asks; nobody is answered while their platform can't tell.

        Raises AskerUnknown, StoreUnavailable.
        """
        platform = self._platforms.get(message.thread.platform)
        if platform is None:
            return IdentifiedAsker(message.author)
        try:
            told = await platform.introduce(message)
        except DeliveryFailed as error:
            raise AskerUnknown(
                f"{message.thread.platform} did not say who asks: {error}"
            ) from error
        if not told.outsiders:
            return IdentifiedAsker(told.author, recorded=told.author)
        spaces = self._open_spaces.get(message.thread.platform)
        if not spaces:
            text = _ASKER_IS_OUTSIDER if told.author.outsider else _OUTSIDERS_READ_ALONG
            return Refusal(text, "outsiders", silent=not await self._to_be_told(message))
        author = replace(told.author, principals=_EVERYONE_ONLY)
        note = _OUTSIDERS_NOTE.format(", ".join(sorted(spaces)))
        return IdentifiedAsker(author, open=False, recorded=author, notes=(note,), spaces=spaces)

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

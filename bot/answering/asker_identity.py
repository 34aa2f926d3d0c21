"""Identify the asker through their platform, and resolve what they may read now.

In a channel, pages open to everyone are readable; in a private conversation, those its asker may
read. Where people from outside the company ask or read along, only the spaces open to them count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from bot.domain.errors import AskerUnknown, DeliveryFailed
from bot.domain.messages import Message, Person, Platform, Refusal
from bot.domain.ports import Directory, Introduces, Notes
from rag.types import EVERYONE, Chunk, Principal

EVERYONE_PRINCIPALS = frozenset({EVERYONE})
"""The principals of a channel: only pages open to everyone are readable there."""


@dataclass(frozen=True, slots=True)
class Reader:
    """The read permissions of a person or channel: pages open to ``principals`` in ``spaces``.

    ``spaces`` None means every space.
    """

    principals: frozenset[Principal]
    spaces: frozenset[str] | None = None

    def among(self, found: Mapping[str, Chunk]) -> Mapping[str, Chunk]:
        """Return those of ``found`` in the reader's spaces.

        The caller has checked that they are open to the principals.
        """
        if self.spaces is None:
            return found
        return {name: chunk for name, chunk in found.items() if chunk.space in self.spaces}


READS_NOTHING = Reader(EVERYONE_PRINCIPALS, frozenset())
"""The reader of no space: nothing is readable."""


class ReaderLookup:
    """Resolve the ``Reader`` for a message from the platform's current data about people.

    Args:
        people: The platform.
        directory: Resolves principals, as at admission.
        open_spaces: The only spaces readable where people from outside ask or read along.
    """

    def __init__(
        self, people: Introduces, directory: Directory, *, open_spaces: Collection[str]
    ) -> None:
        self._people = people
        self._directory = directory
        self._outsiders = Reader(EVERYONE_PRINCIPALS, frozenset(open_spaces))

    async def of_thread(self, message: Message) -> Reader:
        """Return the reader that all who see a thread have in common; READS_NOTHING if unknown."""
        try:
            asker = await self.of_asker(message)
        except DeliveryFailed:
            return READS_NOTHING
        return asker if message.private else Reader(EVERYONE_PRINCIPALS, asker.spaces)

    async def of_asker(self, message: Message) -> Reader:
        """Return the asker's reader, for content shown to them alone. Raises DeliveryFailed."""
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

OUTSIDERS_NOT_KNOWN = Refusal(_OUTSIDERS_NOT_KNOWN_TEXT, "outsiders_not_known")
"""Refusal when the platform could not be asked about outsiders for too long."""


@dataclass(frozen=True, slots=True)
class IdentifiedAsker:
    """The asker of a message; ``open`` is False if they may read no more than everyone may.

    ``recorded`` is the person to record as the asker, None if the platform was not asked.
    ``spaces`` are those open to people from outside, if they ask or read along; else None.
    """

    author: Person
    open: bool = True
    recorded: Person | None = None
    notes: tuple[str, ...] = ()
    spaces: frozenset[str] | None = None


class AskerIdentification:
    """Identify the asker through the platform, or from the message where it can't be asked.

    Args:
        platforms: The platforms that know more about a person than a message says.
        open_spaces: The spaces to answer from where people from outside ask or read along, by
            platform. Without any, everybody is refused in such a conversation.
        notes: Stores whom a refusal was posted to: each person gets it once per channel.
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
        """Return the asker, or a refusal because of people from outside.

        Raises AskerUnknown while the platform can't be asked, and StoreUnavailable.
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
        author = replace(told.author, principals=EVERYONE_PRINCIPALS)
        note = _OUTSIDERS_NOTE.format(", ".join(sorted(spaces)))
        return IdentifiedAsker(author, open=False, recorded=author, notes=(note,), spaces=spaces)

    async def _to_be_told(self, message: Message) -> bool:
        """Return whether to post the refusal for this message; the same result on a retry."""
        if message.overheard:
            # No refusal is posted then, so it must not use up the one time.
            return False
        thread, interaction = message.thread, message.interaction_id
        key = f"{thread.platform}:outsiders:{thread.channel}:{message.author.id}"
        if await self._notes.first(thread.tenant, key, interaction, interaction_id=interaction):
            return True
        return await self._notes.get(thread.tenant, key) == interaction

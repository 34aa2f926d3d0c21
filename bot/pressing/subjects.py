"""What a press or a reaction is about, checked against who acts and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bot.ports import Interactions
from bot.pressing.declining import COLLEAGUES_ONLY, GONE, Declined
from bot.types import Interaction, InteractionId, Message, Person, Platform


@dataclass(frozen=True, slots=True)
class Presser:
    """Who presses or reacts, and where, as the platform vouches for it.

    ``reference`` is what the platform is asked about them by. ``alone`` says that nobody but them
    and the bot sees where they press.
    """

    person: Person
    channel: str
    reference: str
    alone: bool = False


class KnowsColleagues(Protocol):
    """Tells colleagues from guests, bots and people of other organisations."""

    async def of(self, reference: str, /) -> object | None:
        """Return a colleague, None for anybody else. Raises bot.errors.DeliveryFailed."""
        ...


def _nowhere_else(_: Message) -> bool:
    return False


class Subjects:
    """Finds interactions for people of one platform. Raises StoreUnavailable and DeliveryFailed.

    What a person asked is theirs wherever they are alone with the bot. ``anywhere`` tells of
    questions whose answer may be pressed in any channel at all.
    """

    def __init__(
        self,
        *,
        platform: Platform,
        tenant: str,
        interactions: Interactions,
        colleagues: KnowsColleagues,
        anywhere: Callable[[Message], bool] = _nowhere_else,
    ) -> None:
        self._platform = platform
        self._tenant = tenant
        self._interactions = interactions
        self._colleagues = colleagues
        self._anywhere = anywhere

    async def seen(self, interaction_id: InteractionId, presser: Presser) -> Interaction:
        """Return an interaction of this channel that a person sees. Raises Declined.

        Of a channel, the platform vouches that they see it; a private conversation is its asker's.
        """
        interaction = await self._interactions.get(interaction_id)
        if interaction is None or interaction.withdrawn:
            raise Declined(GONE)
        message = interaction.message
        own = message.author.id == presser.person.id
        if not self._is_there(message, presser, own=own) or (message.private and not own):
            raise Declined(GONE)
        return interaction

    async def acted_on(self, interaction_id: InteractionId, presser: Presser) -> Interaction:
        """Return one that a person may do something about: its asker or a colleague.

        Raises Declined.
        """
        interaction = await self.seen(interaction_id, presser)
        if not await self.may_act(interaction.message, presser):
            raise Declined(COLLEAGUES_ONLY)
        return interaction

    async def may_act(self, message: Message, presser: Presser) -> bool:
        """Tell whether a person asked this, or is a colleague and can see it."""
        if message.author.id == presser.person.id:
            return True
        return not message.private and await self._colleagues.of(presser.reference) is not None

    def _is_there(self, message: Message, presser: Presser, *, own: bool) -> bool:
        thread = message.thread
        if (thread.platform, thread.tenant) != (self._platform, self._tenant):
            return False
        here = thread.channel == presser.channel or self._anywhere(message)
        return here or (own and presser.alone)

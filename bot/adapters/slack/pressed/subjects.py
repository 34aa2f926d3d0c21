"""What a press or a reaction is about, checked against who acts and where."""

from __future__ import annotations

from typing import Protocol

from bot.adapters.slack.pressed.pressing import GONE, Declined
from bot.adapters.slack.wire.reply_to import response_url_of
from bot.ports import Interactions
from bot.types import Interaction, InteractionId, Message

_COLLEAGUES = "Only colleagues can do this here."


class KnowsColleagues(Protocol):
    """Tells colleagues from guests, bots and people of other organisations."""

    async def of(self, user_id: str) -> object | None:
        """Return a colleague, None for anybody else. Raises bot.errors.DeliveryFailed."""
        ...


class Subjects:
    """Finds interactions for people on Slack. Raises StoreUnavailable and DeliveryFailed."""

    def __init__(
        self, *, tenant: str, interactions: Interactions, colleagues: KnowsColleagues
    ) -> None:
        self._tenant = tenant
        self._interactions = interactions
        self._colleagues = colleagues

    async def seen(self, interaction_id: InteractionId, user: str, channel: str) -> Interaction:
        """Return an interaction of this channel that a person sees. Raises Declined.

        Of a channel, Slack vouches that they see it; a private conversation is its asker's.
        """
        interaction = await self._interactions.get(interaction_id)
        if interaction is None or not _is_there(interaction, self._tenant, channel):
            raise Declined(GONE)
        message = interaction.message
        if message.private and message.author.id != user:
            raise Declined(GONE)
        return interaction

    async def acted_on(self, interaction_id: InteractionId, user: str, channel: str) -> Interaction:
        """Return one that a person may do something about: its asker or a colleague.

        Raises Declined.
        """
        interaction = await self.seen(interaction_id, user, channel)
        if not await self.may_act(interaction.message, user):
            raise Declined(_COLLEAGUES)
        return interaction

    async def may_act(self, message: Message, user: str) -> bool:
        """Tell whether a person asked this, or is a colleague and can see it."""
        if message.author.id == user:
            return True
        return not message.private and await self._colleagues.of(user) is not None


def _is_there(interaction: Interaction, tenant: str, channel: str) -> bool:
    thread = interaction.message.thread
    # What was asked by command may be answered in a direct message; it is its asker's anywhere.
    where = channel if response_url_of(interaction.message) else thread.channel
    there = (thread.platform, thread.tenant, where) == ("slack", tenant, channel)
    return there and not interaction.withdrawn

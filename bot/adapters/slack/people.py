"""The people's channel on Slack: who is asked when the bot can't answer."""

from __future__ import annotations

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calls import Caller
from bot.adapters.slack.errors import NeverPermitted, NotPermitted
from bot.adapters.slack.labels import CARD, Place, Posted, label
from bot.adapters.slack.lookup import Lookup
from bot.adapters.slack.posting import Poster
from bot.adapters.slack.render import Forms, card
from bot.errors import DeliveryFailed, DeliveryRefused
from bot.rendering import HandOver, hand_over
from bot.types import Delivery, Message

_UNSEEN = frozenset({"channel_not_found", "not_in_channel"})
"""The bot isn't in the channel, so no card of its is there that it could look for."""

log = structlog.get_logger(__name__)


class People:
    """Shows escalations in the channel that is configured for them, if there is one."""

    def __init__(self, client: AsyncWebClient, caller: Caller, channel: str | None) -> None:
        self._client = client
        self._caller = caller
        self._channel = channel
        self._poster = Poster(client, caller)
        self._lookup = Lookup(client, caller)

    def are_asked(self, delivery: Delivery) -> bool:
        """Tell whether a card belongs to a delivery."""
        return self._channel is not None and hand_over(delivery) is not None

    async def ask(self, delivery: Delivery) -> bool:
        """Post the card; False when Slack does not let us. Raises DeliveryFailed for the rest.

        A refusal is not waited out: the asker is told at once that nobody was reached.
        """
        asked = hand_over(delivery)
        if asked is None or self._channel is None:
            return True
        place = _place(self._channel, delivery.message)
        forms = await self._card(delivery.message, asked)
        try:
            await self._poster.post(place, forms, label(delivery, CARD, of=1))
        except (NotPermitted, DeliveryRefused) as error:
            log.warning("slack.people_not_asked", channel=self._channel, error=str(error))
            return False
        return True

    async def cards(self, message: Message) -> tuple[Posted, ...]:
        """Return the cards about a message that are there. Raises DeliveryFailed."""
        if self._channel is None:
            return ()
        place = _place(self._channel, message)
        try:
            return await self._lookup.search(place, message.interaction_id)
        except (NotPermitted, NeverPermitted) as error:
            if error.code in _UNSEEN:
                return ()
            raise

    async def _card(self, message: Message, asked: HandOver) -> Forms:
        permalink = None if message.private else await self._permalink(message)
        return card(asked, author=message.author.id, permalink=permalink)

    async def _permalink(self, message: Message) -> str | None:
        try:
            answer = await self._caller.call(
                "chat.getPermalink",
                lambda: self._client.chat_getPermalink(
                    channel=message.thread.channel, message_ts=message.id
                ),
            )
        except DeliveryFailed as error:
            log.warning("slack.no_permalink", error=str(error))
            return None
        return str(answer["permalink"])


def _place(channel: str, message: Message) -> Place:
    return Place(channel, None, since=message.id)

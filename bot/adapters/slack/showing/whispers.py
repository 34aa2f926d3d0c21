"""What only the asker sees in a channel: word that there is more, and the more itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import structlog

from bot.adapters.slack.showing.posting import Poster
from bot.adapters.slack.showing.render import messages, more
from bot.adapters.slack.wire.labels import thread_of
from bot.errors import DeliveryFailed
from bot.rendering.rendering import render
from bot.types import Delivery, Message, Reply

log = structlog.get_logger(__name__)


class Whispers:
    """Shows ephemeral messages. Slack keeps none of them, and may show them not at all."""

    def __init__(self, poster: Poster) -> None:
        self._poster = poster

    async def offer(self, delivery: Delivery) -> None:
        """Say to the asker that there is more for them; the public reply stands without it."""
        message = delivery.message
        if delivery.outcome.private is None or message.private:
            return
        forms = more(delivery.interaction_id)
        try:
            await self._poster.post_ephemeral(thread_of(message), message.author.id, forms)
        except DeliveryFailed as error:
            log.warning("slack.offer_failed", error=str(error))

    async def whisper(self, message: Message, reply: Reply) -> None:
        """Show a reply with its sources to the asker alone. Raises DeliveryFailed."""
        # Who reads it sits in a channel, where a plain reply is not heard by the bot.
        rendered = replace(render(reply, private=False), footer="")
        for forms in messages(rendered, now=datetime.now(UTC)):
            await self._poster.post_ephemeral(thread_of(message), message.author.id, forms)

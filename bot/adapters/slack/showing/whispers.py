"""What only the asker sees in a channel: word that there is more, and the more itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import structlog

from bot.adapters.slack.calling.errors import NeverPermitted, NotPermitted, ResultUnknown
from bot.adapters.slack.showing.posting import Poster
from bot.adapters.slack.showing.render import messages, more
from bot.adapters.slack.wire.labels import Place, thread_of, ts_of
from bot.chat.response_view import render
from bot.domain.errors import DeliveryFailed
from bot.domain.types import Delivery, Message, PostedRef, Reply

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

    async def only(self, delivery: Delivery) -> PostedRef:
        """Show a response to its asker alone; return that it is done. Raises DeliveryFailed.

        Slack can't be asked for it afterwards, and it may be lost: better once than twice.
        """
        message = delivery.message
        rendered = render(delivery.outcome.response, private=message.private)
        place = _below(message)
        for forms in messages(rendered, now=datetime.now(UTC)):
            try:
                await self._poster.post_ephemeral(place, message.author.id, forms)
            except (ResultUnknown, NotPermitted, NeverPermitted) as error:
                log.info("slack.notice_not_shown", error=str(error))
        return PostedRef(place.channel, delivery.id)

    async def whisper(self, message: Message, reply: Reply) -> None:
        """Show a reply with its sources to the asker alone. Raises DeliveryFailed."""
        # Who reads it sits in a channel, where a plain reply is not heard by the bot.
        rendered = replace(render(reply, private=False), footer="")
        for forms in messages(rendered, now=datetime.now(UTC)):
            await self._poster.post_ephemeral(thread_of(message), message.author.id, forms)


def _below(message: Message) -> Place:
    """Return where something ephemeral is seen: Slack shows it in no thread that nobody began."""
    place = thread_of(message)
    return replace(place, thread=None) if place.thread == ts_of(message) else place

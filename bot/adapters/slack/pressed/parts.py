"""Which answer a message of ours is a part of: the record knows only the last one's place."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from slack_sdk.web.async_client import AsyncWebClient

from bot.adapters.slack.calling.calls import Caller
from bot.adapters.slack.calling.errors import NeverPermitted
from bot.adapters.slack.wire.events import Event, object_at, text_at
from bot.adapters.slack.wire.labels import CARD, EVENT_TYPE
from bot.domain.types import InteractionId
from bot.inbox.outbox import delivery_id

_REMEMBERED = 1_000


class AnswerParts:
    """Asks Slack for a message's metadata, once for each message."""

    def __init__(self, client: AsyncWebClient, caller: Caller) -> None:
        self._client = client
        self._caller = caller
        self._found: OrderedDict[tuple[str, str], InteractionId | None] = OrderedDict()

    def known(self, channel: str, ts: str) -> InteractionId | None:
        """Return what was found before, without asking."""
        return self._found.get((channel, ts))

    async def look_up(self, channel: str, ts: str) -> InteractionId | None:
        """Return the interaction that a message answers, None for any other message.

        Raises DeliveryFailed.
        """
        if (channel, ts) not in self._found:
            self._found[channel, ts] = await self._asked(channel, ts)
            while len(self._found) > _REMEMBERED:
                self._found.popitem(last=False)
        return self._found[channel, ts]

    async def _asked(self, channel: str, ts: str) -> InteractionId | None:
        try:
            answer = await self._caller.call(
                "conversations.replies",
                lambda: self._client.conversations_replies(
                    channel=channel,
                    ts=ts,
                    oldest=ts,
                    latest=ts,
                    inclusive=True,
                    limit=1,
                    include_all_metadata=True,
                ),
            )
        except NeverPermitted:
            return None
        listed = answer.get("messages") or ()
        found = (each for each in listed if isinstance(each, Mapping) and each.get("ts") == ts)
        return next((_answered(each) for each in found), None)


def _answered(message: Event) -> InteractionId | None:
    """Return what a message answers: cards, and news of people, are no answers of the bot's."""
    metadata = object_at(message, "metadata")
    payload = object_at(metadata, "event_payload")
    named = InteractionId(text_at(payload, "interaction_id"))
    if metadata.get("event_type") != EVENT_TYPE or text_at(payload, "part") == CARD:
        return None
    return named if text_at(payload, "delivery_id") == delivery_id(named) else None

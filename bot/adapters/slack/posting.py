"""Posts a message on Slack once, in the richest form that it takes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapters.slack.calls import Caller
from bot.adapters.slack.errors import FormRefused, ResultUnknown
from bot.adapters.slack.render import Form, Forms
from bot.errors import DeliveryFailed
from bot.types import InteractionId

EVENT_TYPE = "frontdesk_reply"

_REMEMBERED = 10_000
_LOOKED_THROUGH = 100

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """A thread in a channel, or the channel itself; replies are sought after the ts ``since``."""

    channel: str
    thread: str | None = None
    since: str | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """What a posted message carries as metadata, so that it is found again."""

    delivery_id: str
    interaction_id: InteractionId
    part: str

    @property
    def metadata(self) -> dict[str, object]:
        payload = {
            "delivery_id": self.delivery_id,
            "interaction_id": self.interaction_id,
            "part": self.part,
        }
        return {"event_type": EVENT_TYPE, "event_payload": payload}


class Poster:
    """Remembers what it posted, so that a repeated delivery only adds what is missing."""

    def __init__(self, client: AsyncWebClient, caller: Caller) -> None:
        self._client = client
        self._caller = caller
        self._posted: OrderedDict[tuple[str, str], str] = OrderedDict()

    def posted(self, delivery_id: str, part: str) -> str | None:
        """Return the ts of a part that is known to be posted."""
        return self._posted.get((delivery_id, part))

    async def post(self, place: Place, forms: Forms, label: Label) -> str:
        """Post a message unless it is there; return its ts. Raises DeliveryFailed."""
        ts = self.posted(label.delivery_id, label.part)
        return ts or await self._post(place, forms, label)

    async def look_up(self, place: Place, delivery_id: str) -> None:
        """Learn what is posted of a delivery. Raises DeliveryFailed when Slack won't tell."""
        if place.thread is None:
            answer = await self._caller.call(
                "conversations.history",
                lambda: self._client.conversations_history(
                    channel=place.channel,
                    oldest=place.since,
                    limit=_LOOKED_THROUGH,
                    include_all_metadata=True,
                ),
            )
        else:
            answer = await self._replies(place, place.thread)
        for part, ts in _parts(answer, delivery_id).items():
            self._remember(delivery_id, part, ts)

    async def _post(self, place: Place, forms: Forms, label: Label) -> str:
        for form in forms:
            try:
                ts = await self._send(place, form, label)
            except FormRefused as error:
                log.warning("slack.form_refused", part=label.part, error=str(error))
            except ResultUnknown:
                return await self._after_all(place, label)
            else:
                self._remember(label.delivery_id, label.part, ts)
                return ts
        raise DeliveryFailed(f"Slack refused every form of a message to {place.channel!r}.")

    async def _send(self, place: Place, form: Form, label: Label) -> str:
        answer = await self._caller.call(
            "chat.postMessage",
            lambda: self._client.chat_postMessage(
                channel=place.channel,
                thread_ts=place.thread,
                text=form.text,
                blocks=[dict(block) for block in form.blocks] or None,
                metadata=label.metadata,
                unfurl_links=False,
                unfurl_media=False,
            ),
        )
        return str(answer["ts"])

    async def _after_all(self, place: Place, label: Label) -> str:
        """Return the ts of a message that Slack took without saying so; raise when it did not."""
        await self.look_up(place, label.delivery_id)
        ts = self.posted(label.delivery_id, label.part)
        if ts is None:
            raise DeliveryFailed(f"Slack did not take a message to {place.channel!r}.")
        return ts

    async def _replies(self, place: Place, thread: str) -> AsyncSlackResponse:
        return await self._caller.call(
            "conversations.replies",
            lambda: self._client.conversations_replies(
                channel=place.channel,
                ts=thread,
                oldest=place.since,
                limit=_LOOKED_THROUGH,
                include_all_metadata=True,
            ),
        )

    def _remember(self, delivery_id: str, part: str, ts: str) -> None:
        self._posted[delivery_id, part] = ts
        while len(self._posted) > _REMEMBERED:
            self._posted.popitem(last=False)


def _parts(answer: AsyncSlackResponse, delivery_id: str) -> Mapping[str, str]:
    """Return the ts by part of the messages that carry a delivery's metadata."""
    found: dict[str, str] = {}
    messages = answer.get("messages")
    for message in messages if isinstance(messages, Sequence) else ():
        metadata = message.get("metadata") or {}
        payload = metadata.get("event_payload") or {}
        if metadata.get("event_type") == EVENT_TYPE and payload.get("delivery_id") == delivery_id:
            found.setdefault(str(payload.get("part")), str(message["ts"]))
    return found

"""Message metadata by which any process finds again what it or another has posted. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.interactions import Delivery
from bot.domain.messages import InteractionId, Message

EVENT_TYPE = "frontdesk_reply"
CARD_PART = "card"
"""The part of a delivery that is shown to people; the others are numbered from 1."""

_TS = re.compile(r"[0-9]+\.[0-9]+")
_SKEW = timedelta(minutes=1)
"""Slack's clock may be so much behind ours."""


@dataclass(frozen=True, slots=True)
class Place:
    """A thread in a channel, or the channel itself; replies are sought after the ts ``since``."""

    channel: str
    thread: str | None
    since: str


@dataclass(frozen=True, slots=True)
class MessageLabel:
    """The part that a message is, and of how many numbered ones its delivery consists."""

    delivery_id: str
    interaction_id: InteractionId
    part: str
    of: int

    @property
    def metadata(self) -> dict[str, object]:
        payload = {
            "delivery_id": self.delivery_id,
            "interaction_id": self.interaction_id,
            "part": self.part,
            "of": self.of,
        }
        return {"event_type": EVENT_TYPE, "event_payload": payload}


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """A message of ours as Slack lists it."""

    channel: str
    ts: str
    label: MessageLabel


PostedParts = Mapping[str, PostedMessage]
"""What is there of one delivery, by part."""


def label_of(delivery: Delivery, part: str, of: int) -> MessageLabel:
    """Return the label of one part of a delivery."""
    return MessageLabel(delivery.id, delivery.interaction_id, part, of)


def thread_of(message: Message) -> Place:
    """Return where a message is answered."""
    return Place(message.thread.channel, message.thread.id, since=ts_of(message))


def ts_of(message: Message) -> str:
    """Return Slack's ts of a question.

    A press of a button is a message of its own, ``TS:what``: it is sought where it was pressed. A
    command has no ts at all; what is posted after it is posted after it was received.
    """
    ts = message.id.partition(":")[0]
    if _TS.fullmatch(ts):
        return ts
    return ts_since(message.received_at)


def ts_since(at: datetime) -> str:
    """Return the ts after which Slack lists whatever was posted at a time, or later."""
    return f"{(at - _SKEW).timestamp():.6f}"


def is_ts(id_: str) -> bool:
    """Tell whether a posted reference names a message that Slack can be asked about."""
    return _TS.fullmatch(id_) is not None


def own_messages(
    channel: str, messages: object, interaction_id: InteractionId
) -> Iterator[PostedMessage]:
    """Yield the messages of Slack's list that belong to an interaction, in its order."""
    for message in messages if isinstance(messages, Sequence) else ():
        metadata = message.get("metadata") or {}
        payload = metadata.get("event_payload") or {}
        mine = payload.get("interaction_id") == interaction_id
        if metadata.get("event_type") == EVENT_TYPE and mine:
            named = MessageLabel(
                str(payload.get("delivery_id")),
                interaction_id,
                part=str(payload.get("part")),
                of=_count(payload.get("of")),
            )
            yield PostedMessage(channel, str(message["ts"]), named)


def last_if_complete(there: PostedParts) -> PostedMessage | None:
    """Return the last numbered part when all are there, else None.

    How many they are is read from those that are there: another version of the bot may have cut
    the same answer differently.
    """
    of = max((posted.label.of for part, posted in there.items() if part != CARD_PART), default=0)
    whole = of > 0 and all(str(number) in there for number in range(1, of + 1))
    return there[str(of)] if whole else None


def _count(value: object) -> int:
    return value if isinstance(value, int) else 1

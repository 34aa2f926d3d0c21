"""Message metadata by which any process finds the messages that the bot has posted. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.cases import Notice
from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import InteractionId, Message
from bot.inbox.outbox import delivery_id
from bot.platforms.slack.payloads.events import Event, object_at, text_at

EVENT_TYPE = "frontdesk_reply"
CARD_PART = "card"
"""The part name of the escalation card; the other parts of a delivery are numbered from 1."""

_TS = re.compile(r"[0-9]+\.[0-9]+")
_SKEW = timedelta(minutes=1)
"""How far Slack's clock may be behind ours."""


@dataclass(frozen=True, slots=True)
class Place:
    """A thread in a channel, or the channel itself; only messages after ``since``, a ts, count."""

    channel: str
    thread: str | None
    since: str


@dataclass(frozen=True, slots=True)
class MessageLabel:
    """A message's part of a delivery; ``total`` is the number of numbered parts."""

    delivery_id: str
    interaction_id: InteractionId
    part: str
    total: int

    @property
    def metadata(self) -> dict[str, object]:
        payload = {
            "delivery_id": self.delivery_id,
            "interaction_id": self.interaction_id,
            "part": self.part,
            "of": self.total,
        }
        return {"event_type": EVENT_TYPE, "event_payload": payload}


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """A message of the bot, as Slack lists it."""

    channel: str
    ts: str
    label: MessageLabel

    @property
    def ref(self) -> PostedRef:
        return PostedRef(self.channel, self.ts)


PostedParts = Mapping[str, PostedMessage]
"""The posted messages of one delivery, by part."""


def label_of(posted: Delivery | Notice, part: str, total: int) -> MessageLabel:
    """Return the label of one part of a delivery or notice."""
    return MessageLabel(posted.id, posted.interaction_id, part, total)


def parts_of(delivery_id: str, posted: Sequence[PostedMessage]) -> PostedParts:
    """Return the messages of a delivery or notice by part, the first of each."""
    return {p.label.part: p for p in reversed(posted) if p.label.delivery_id == delivery_id}


def thread_of(message: Message) -> Place:
    """Return the thread in which a message is answered."""
    return Place(message.thread.channel, message.thread.id, since=ts_of(message))


def ts_of(message: Message) -> str:
    """Return Slack's ts of a question.

    A press of a button is a message of its own with the id ``TS:what``: TS is that of the message
    it is below. A command has no ts: its time of receipt is used, as replies are posted later.
    """
    ts = message.id.partition(":")[0]
    if _TS.fullmatch(ts):
        return ts
    return ts_since(message.received_at)


def ts_since(at: datetime) -> str:
    """Return the ts after which Slack lists everything posted at a time or later."""
    return f"{(at - _SKEW).timestamp():.6f}"


def is_ts(id_: str) -> bool:
    """Return whether the id of a posted reference is a ts, by which Slack can look it up."""
    return _TS.fullmatch(id_) is not None


def own_messages(
    channel: str, messages: object, interaction_id: InteractionId
) -> Iterator[PostedMessage]:
    """Yield the messages of Slack's list that belong to an interaction, in its order."""
    for message in messages if isinstance(messages, Sequence) else ():
        label = _label_in(message)
        if label is not None and label.interaction_id == interaction_id:
            yield PostedMessage(channel, text_at(message, "ts"), label)


def interaction_answered_by(message: Event) -> InteractionId | None:
    """Return the interaction that a message answers; None for cards and notices."""
    label = _label_in(message)
    if label is None or label.part == CARD_PART:
        return None
    answers = label.delivery_id == delivery_id(label.interaction_id)
    return label.interaction_id if answers else None


def _label_in(message: Event) -> MessageLabel | None:
    """Return the label in a message's metadata, None if it has none."""
    metadata = object_at(message, "metadata")
    payload = object_at(metadata, "event_payload")
    if metadata.get("event_type") != EVENT_TYPE:
        return None
    total = payload.get("of")
    return MessageLabel(
        text_at(payload, "delivery_id"),
        InteractionId(text_at(payload, "interaction_id")),
        part=text_at(payload, "part"),
        total=total if isinstance(total, int) else 1,
    )


def last_if_complete(parts: PostedParts) -> PostedMessage | None:
    """Return the last numbered part if all are posted, else None.

    Their number is read from the posted parts: another version of the bot may have split the same
    answer differently.
    """
    total = max(
        (posted.label.total for part, posted in parts.items() if part != CARD_PART), default=0
    )
    whole = total > 0 and all(str(number) in parts for number in range(1, total + 1))
    return parts[str(total)] if whole else None

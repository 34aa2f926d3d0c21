"""Read fields of an activity from its raw JSON; pure.

botbuilder's own deserializer drops the tenant, and fields that it does not define.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from bot.domain.messages import Person
from bot.domain.text.markdown import without_direction_marks

THREAD_SEPARATOR = ";messageid="
"""In a conversation id, separates the channel from the id of the thread's first message."""

_THREAD_MARK = "@thread."
_LONGEST_NAME = 200

Body = Mapping[str, object]
Json = Mapping[str, object]
ConversationKind = Literal["personal", "groupChat", "channel"]

_KINDS: Mapping[str, ConversationKind] = {"personal": "personal", "groupChat": "groupChat"}


def text_at(body: Body, *path: str) -> str:
    """Return the string at a path; "" if there is none."""
    value = _at(body, path)
    return value if isinstance(value, str) else ""


def object_at(body: Body, *path: str) -> Body:
    """Return the object at a path; an empty one if there is none."""
    value = _at(body, path)
    return value if isinstance(value, Mapping) else {}


def objects_at(body: Body, *path: str) -> tuple[Body, ...]:
    """Return the objects of the list at a path; other items are skipped."""
    value = _at(body, path)
    listed = value if isinstance(value, list) else ()
    return tuple(each for each in listed if isinstance(each, Mapping))


def tenant_of(body: Body) -> str:
    """Return the Entra tenant of an activity."""
    return text_at(body, "channelData", "tenant", "id") or text_at(body, "conversation", "tenantId")


def person_of(body: Body) -> Person:
    """Return the sender of an activity, by object id."""
    sender = text_at(body, "from", "aadObjectId") or text_at(body, "from", "id")
    return Person(id=sender, name=display_name(text_at(body, "from", "name")))


def display_name(told: str) -> str:
    """Return a person's name on one line, without bidirectional control characters."""
    return " ".join(without_direction_marks(told).split())[:_LONGEST_NAME]


def conversation_of(body: Body) -> str:
    """Return the chat or channel of an activity, without the thread."""
    return text_at(body, "conversation", "id").partition(THREAD_SEPARATOR)[0]


def thread_root_of(body: Body) -> str:
    """Return the id of the message that began the thread; "" outside channels."""
    return text_at(body, "conversation", "id").partition(THREAD_SEPARATOR)[2]


def thread_id_of(body: Body) -> str:
    """Return the id of the conversation: a channel's thread, or a whole chat."""
    return thread_root_of(body) or conversation_of(body)


def kind_of(body: Body) -> ConversationKind:
    """Return the kind of the conversation; a missing one counts as a channel."""
    return _KINDS.get(text_at(body, "conversation", "conversationType"), "channel")


def is_private(body: Body) -> bool:
    """Return whether only the sender and the bot see the conversation.

    A thread never is private, as others see it, whatever kind the activity claims.
    """
    shared = _THREAD_MARK in text_at(body, "conversation", "id")
    return kind_of(body) == "personal" and not shared


def is_from_bot(body: Body) -> bool:
    """Return whether a bot, this or another one, sent an activity."""
    sender, bot = text_at(body, "from", "id"), text_at(body, "recipient", "id")
    return sender == bot or text_at(body, "from", "role") == "bot" or sender.startswith("28:")


def sent_at(body: Body) -> str:
    """Return the time of an activity in seconds as a decimal number; "" if it has none."""
    try:
        at = datetime.fromisoformat(text_at(body, "timestamp"))
    except ValueError:
        return ""
    return f"{at.timestamp():.6f}" if at.tzinfo else ""


def _at(body: Body, path: tuple[str, ...]) -> object:
    """Return the value at a path; None if there is none."""
    value: object = body
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value

"""Read fields of an activity from its raw JSON; build and parse conversation references; pure.

botbuilder's own deserializer drops the tenant, and fields that it does not define. A Bot Framework
conversation reference is the address for a reply; as JSON it is the ``reply_to`` of a message,
opaque to all other packages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Literal
from urllib.parse import quote, urlencode

from bot.domain.interactions import PostedRef
from bot.domain.markdown import without_direction_marks
from bot.domain.messages import Message, Person

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


ROOM_ID = re.compile(r"19:[^\s/?;&#]+")
"""Id of a channel or group chat in Teams, without a thread."""

_REFERENCE_FIELDS = {
    "activityId": "id",
    "user": "from",
    "bot": "recipient",
    "conversation": "conversation",
    "channelId": "channelId",
    "serviceUrl": "serviceUrl",
    "locale": "locale",
}


def reference_of(body: Body) -> str:
    """Return the reference with which any process can reply to an activity later.

    It also keeps the ids of the team, which links to the thread need.
    """
    kept = {name: _readable(body[key]) for name, key in _REFERENCE_FIELDS.items() if key in body}
    team = {key: text_at(body, "channelData", "team", key) for key in ("id", "aadGroupId")}
    named = {key: value for key, value in team.items() if value}
    return json.dumps({**kept, "team": named} if named else kept)


def _readable(value: object) -> object:
    """Drop values whose type botbuilder would reject when it parses the reference."""
    if isinstance(value, Mapping):
        return {
            key: each
            for key, each in value.items()
            if isinstance(each, bool if key == "isGroup" else str)
        }
    return value if isinstance(value, str) else None


def read_reference(reply_to: str) -> Body:
    """Return a reference as JSON; {} if it is invalid."""
    try:
        read = json.loads(reply_to)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def conversation_in(reply_to: str) -> str:
    """Return the conversation of a reference, with its thread; "" for none."""
    return text_at(read_reference(reply_to), "conversation", "id")


def channel_in(reply_to: str) -> str:
    """Return the chat or channel of a reference, without the thread; "" for none."""
    return conversation_in(reply_to).partition(THREAD_SEPARATOR)[0]


def user_in(reply_to: str) -> str:
    """Return the connector's id of the writer (29:…); "" for none."""
    return text_at(read_reference(reply_to), "user", "id")


def reference_to(reply_to: str, conversation: str, *, kind: str = "channel") -> str:
    """Return a reference to another conversation with the same bot and service.

    A message sent there is not a reply.
    """
    read = read_reference(reply_to)
    there = {"id": conversation, "conversationType": kind, "isGroup": kind != "personal"}
    tenant = text_at(read, "conversation", "tenantId")
    kept = {key: read[key] for key in ("bot", "channelId", "serviceUrl") if key in read}
    return json.dumps({**kept, "conversation": {**there, "tenantId": tenant} if tenant else there})


def initial_reference(*, service_url: str, app_id: str, tenant: str) -> str:
    """Return a reference without a conversation, for use before any activity has arrived."""
    bot = {"id": f"28:{app_id}", "role": "bot"}
    return json.dumps(
        {
            "bot": bot,
            "channelId": "msteams",
            "serviceUrl": service_url,
            "conversation": {"id": "", "tenantId": tenant},
        }
    )


def service_reference_of(body: Body) -> str:
    """Return a reference with only the fields shared by all conversations of a service."""
    said = {"bot": object_at(body, "recipient"), "channelId": text_at(body, "channelId")}
    where = {"serviceUrl": text_at(body, "serviceUrl")}
    return json.dumps({**said, **where, "conversation": {"id": "", "tenantId": tenant_of(body)}})


_LINK_PREFIX = "https://teams.microsoft.com/l/message"
_NUMBER = re.compile(r"\d+")
_CHAT_CONTEXT = '{"contextType":"chat"}'


def thread_conversation(at: PostedRef) -> str:
    """Return the conversation begun by a post; group chats have no threads."""
    return at.channel if _is_chat(at.channel) else f"{at.channel}{THREAD_SEPARATOR}{at.id}"


def question_link(message: Message) -> str | None:
    """Return a link to a question; None for a personal chat, which only its asker can open."""
    if message.private:
        return None
    there = read_reference(message.reply_to)
    at = PostedRef(message.thread.channel, message.id)
    return message_link(
        at,
        tenant=text_at(there, "conversation", "tenantId"),
        group=text_at(there, "team", "aadGroupId"),
        root=message.thread.id,
    )


def message_link(at: PostedRef, *, tenant: str = "", group: str = "", root: str = "") -> str | None:
    """Return a link to a message; None if its id has no known form.

    ``tenant`` and ``group`` are the Entra ids of the company and of the team, which save Teams a
    lookup; ``root`` is the message that began the thread.
    """
    if not (ROOM_ID.fullmatch(at.channel) and _NUMBER.fullmatch(at.id)):
        return None
    known = {"groupId": group, "tenantId": tenant}
    if _is_chat(at.channel):
        known = {"tenantId": tenant, "context": _CHAT_CONTEXT}
    elif _NUMBER.fullmatch(root):
        known |= {"parentMessageId": root}
    asked = urlencode({key: value for key, value in known.items() if value})
    where = f"{_LINK_PREFIX}/{quote(at.channel, safe='')}/{at.id}"
    return f"{where}?{asked}" if asked else where


def _is_chat(conversation: str) -> bool:
    return conversation.endswith("@thread.v2")

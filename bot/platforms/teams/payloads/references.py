"""Build and read conversation references, and the deep links that open a message in Teams; pure.

A Bot Framework conversation reference says where to answer; as JSON it is the ``reply_to`` of a
message, opaque to everybody else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from bot.domain.interactions import PostedRef
from bot.domain.messages import Message
from bot.platforms.teams.payloads.activity import (
    THREAD_SEPARATOR,
    Body,
    object_at,
    tenant_of,
    text_at,
)

ROOM_ID = re.compile(r"19:[^\s/?;&#]+")
"""How Teams names channels and group chats, without a thread."""

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
    """Return what is needed to answer an activity later, by any process.

    Of a team it keeps the names, which an address of the thread needs.
    """
    kept = {name: _readable(body[key]) for name, key in _REFERENCE_FIELDS.items() if key in body}
    team = {key: text_at(body, "channelData", "team", key) for key in ("id", "aadGroupId")}
    named = {key: value for key, value in team.items() if value}
    return json.dumps({**kept, "team": named} if named else kept)


def _readable(value: object) -> object:
    """Leave out what has a type that botbuilder, reading the reference again, would refuse."""
    if isinstance(value, Mapping):
        return {
            key: each
            for key, each in value.items()
            if isinstance(each, bool if key == "isGroup" else str)
        }
    return value if isinstance(value, str) else None


def read_reference(reply_to: str) -> Body:
    """Return a reference as JSON; {} for what is none."""
    try:
        read = json.loads(reply_to)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def conversation_in(reply_to: str) -> str:
    """Return the conversation that a reference leads to, thread and all; "" for none."""
    return text_at(read_reference(reply_to), "conversation", "id")


def room_in(reply_to: str) -> str:
    """Return the chat or channel that a reference leads to, without the thread; "" for none."""
    return conversation_in(reply_to).partition(THREAD_SEPARATOR)[0]


def user_in(reply_to: str) -> str:
    """Return the id under which the connector knows who wrote (29:…); "" for nobody."""
    return text_at(read_reference(reply_to), "user", "id")


def reference_to(reply_to: str, conversation: str, *, kind: str = "channel") -> str:
    """Return a reference to another conversation that the same bot has at the same service.

    What is sent there is a message of its own, a reply to nothing.
    """
    read = read_reference(reply_to)
    there = {"id": conversation, "conversationType": kind, "isGroup": kind != "personal"}
    tenant = text_at(read, "conversation", "tenantId")
    kept = {key: read[key] for key in ("bot", "channelId", "serviceUrl") if key in read}
    return json.dumps({**kept, "conversation": {**there, "tenantId": tenant} if tenant else there})


def initial_reference(*, service_url: str, app_id: str, tenant: str) -> str:
    """Return a reference to no conversation yet, for before anything has arrived."""
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
    """Return a reference with what is the same for all conversations of a service."""
    said = {"bot": object_at(body, "recipient"), "channelId": text_at(body, "channelId")}
    where = {"serviceUrl": text_at(body, "serviceUrl")}
    return json.dumps({**said, **where, "conversation": {"id": "", "tenantId": tenant_of(body)}})


_LINK_PREFIX = "https://teams.microsoft.com/l/message"
_NUMBER = re.compile(r"\d+")
_CHAT_CONTEXT = '{"contextType":"chat"}'


def thread_conversation(at: PostedRef) -> str:
    """Return the conversation that a post began; a group chat has no threads."""
    return at.channel if _is_chat(at.channel) else f"{at.channel}{THREAD_SEPARATOR}{at.id}"


def question_link(message: Message) -> str | None:
    """Return where a question can be opened; None for a chat that only its asker has."""
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
    """Return where a message opens; None for what Teams has given no such name.

    ``tenant`` and ``group`` are the Entra ids of the company and of the team, which spare Teams a
    question; ``root`` is the message that began the thread.
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

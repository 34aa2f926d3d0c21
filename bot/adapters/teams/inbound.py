"""An activity as a message, or nothing: pure, on the JSON as it came.

botbuilder's own reading loses the tenant and, when it strips a mention, every other use of the
bot's name as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from bot.types import Message, Person, Thread

_ROOT = ";messageid="
_TAG = re.compile(r"</?at[^<>]*>")

Body = Mapping[str, object]


def text_at(body: Body, *path: str) -> str:
    """Return the string at a path, "" where there is none."""
    value: object = body
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""


def tenant_of(body: Body) -> str:
    """Return the Entra tenant that an activity comes from."""
    return text_at(body, "channelData", "tenant", "id") or text_at(body, "conversation", "tenantId")


def person_of(body: Body) -> Person:
    """Return who sent an activity, by object id."""
    sender = text_at(body, "from", "aadObjectId") or text_at(body, "from", "id")
    return Person(id=sender, name=text_at(body, "from", "name"))


def conversation_of(body: Body) -> str:
    """Return the chat or channel of an activity, without the thread."""
    return text_at(body, "conversation", "id").partition(_ROOT)[0]


def message_of(body: Body, *, tenant: str, received_at: datetime) -> Message | None:
    """Return the question that an activity holds, or None for everything else."""
    if text_at(body, "type") != "message" or not _is_asked(body):
        return None
    conversation = conversation_of(body)
    root = text_at(body, "conversation", "id").partition(_ROOT)[2]
    return Message(
        id=text_at(body, "id"),
        thread=Thread("teams", tenant, conversation, root or conversation),
        author=person_of(body),
        text=_asked_text(body),
        received_at=received_at,
        private=_is_private(body),
        reply_to=json.dumps(_reference(body)),
    )


def _is_asked(body: Body) -> bool:
    """Tell whether a person asks the bot: in person, or by a mention anywhere else."""
    sender, bot = text_at(body, "from", "id"), text_at(body, "recipient", "id")
    if not (sender and bot and text_at(body, "id") and text_at(body, "conversation", "id")):
        return False
    if sender == bot or text_at(body, "from", "role") == "bot":
        return False
    if body.get("value") is not None and not text_at(body, "text"):
        return False
    return _is_private(body) or any(who == bot for who, _ in _mentions(body))


def _is_private(body: Body) -> bool:
    return text_at(body, "conversation", "conversationType") == "personal"


def _asked_text(body: Body) -> str:
    """Return the text without the bot's mention; other people's become their names."""
    text, bot = text_at(body, "text"), text_at(body, "recipient", "id")
    for who, mention in _mentions(body):
        if who == bot:
            text = re.sub(rf" ?{re.escape(mention)}", "", text, count=1)
        else:
            text = text.replace(mention, _TAG.sub("", mention), 1)
    return text.replace("&nbsp;", " ").replace("\u00a0", " ").strip()


def _mentions(body: Body) -> Iterator[tuple[str, str]]:
    entities = body.get("entities")
    for entity in entities if isinstance(entities, list) else ():
        if isinstance(entity, Mapping) and text_at(entity, "type") == "mention":
            who, text = text_at(entity, "mentioned", "id"), text_at(entity, "text")
            if who and text:
                yield who, text


def _reference(body: Body) -> Body:
    """Return what is needed to answer later, as a Bot Framework conversation reference."""
    kept = {
        "activityId": "id",
        "user": "from",
        "bot": "recipient",
        "conversation": "conversation",
        "channelId": "channelId",
        "serviceUrl": "serviceUrl",
        "locale": "locale",
    }
    return {name: body[key] for name, key in kept.items() if key in body}

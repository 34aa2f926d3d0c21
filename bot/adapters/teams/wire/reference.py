"""Where to answer: a Bot Framework conversation reference as JSON, opaque to everybody else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from bot.adapters.teams.wire.body import ROOT_MARK, Body, object_at, tenant_of, text_at

ROOM_ID = re.compile(r"19:[^\s/?;&#]+")
"""How Teams names channels and group chats, without a thread."""

_KEPT = {
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
    kept = {name: _readable(body[key]) for name, key in _KEPT.items() if key in body}
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
    return conversation_in(reply_to).partition(ROOT_MARK)[0]


def user_in(reply_to: str) -> str:
    """Return the id under which the connector knows who wrote (29:…); "" for nobody."""
    return text_at(read_reference(reply_to), "user", "id")


def elsewhere(reply_to: str, conversation: str, *, kind: str = "channel") -> str:
    """Return a reference to another conversation that the same bot has at the same service.

    What is sent there is a message of its own, a reply to nothing.
    """
    read = read_reference(reply_to)
    there = {"id": conversation, "conversationType": kind, "isGroup": kind != "personal"}
    tenant = text_at(read, "conversation", "tenantId")
    kept = {key: read[key] for key in ("bot", "channelId", "serviceUrl") if key in read}
    return json.dumps({**kept, "conversation": {**there, "tenantId": tenant} if tenant else there})


def first_reference(*, service_url: str, app_id: str, tenant: str) -> str:
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


def service_of(body: Body) -> str:
    """Return a reference with what is the same for all conversations of a service."""
    said = {"bot": object_at(body, "recipient"), "channelId": text_at(body, "channelId")}
    where = {"serviceUrl": text_at(body, "serviceUrl")}
    return json.dumps({**said, **where, "conversation": {"id": "", "tenantId": tenant_of(body)}})

"""Which scope a method needs, and the scopes that the app was installed with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.bot.adapters.slack.workspace.people import Room

INSTALLED = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "groups:history",
    "groups:read",
    "im:history",
    "im:write",
    "mpim:history",
    "mpim:read",
    "reactions:read",
    "reactions:write",
    "usergroups:read",
    "users:read",
    "users:read.email",
)

_ANY_OF = {
    "agents.sessions.setStatus": ("chat:write",),
    "chat.postMessage": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "chat.update": ("chat:write",),
    "chat.delete": ("chat:write",),
    "assistant.threads.setStatus": ("assistant:write", "chat:write"),
    "assistant.threads.setSuggestedPrompts": ("assistant:write",),
    "assistant.threads.setTitle": ("assistant:write",),
    "users.info": ("users:read",),
    "users.lookupByEmail": ("users:read.email",),
    "usergroups.list": ("usergroups:read",),
    "usergroups.users.list": ("usergroups:read",),
    "conversations.open": ("im:write",),
    "reactions.add": ("reactions:write",),
    "reactions.remove": ("reactions:write",),
    "files.info": ("files:read",),
}
_BY_ROOM = {
    "conversations.info": "read",
    "conversations.members": "read",
    "conversations.replies": "history",
    "conversations.history": "history",
}


def missing(
    method: str, arguments: Mapping[str, Any], rooms: Mapping[str, Room], held: Sequence[str]
) -> str:
    """Return the scope that a call lacks, "" when it lacks none."""
    needed = _ANY_OF.get(method, ())
    if method in _BY_ROOM:
        room = rooms.get(str(arguments.get("channel", "")))
        needed = (f"{room.scopes}:{_BY_ROOM[method]}",) if room else ()
    return "" if not needed or any(scope in held for scope in needed) else ",".join(needed)

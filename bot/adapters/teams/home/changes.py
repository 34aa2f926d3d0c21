"""What an activity says of where the bot is: pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bot.adapters.teams.wire.body import Body, conversation_of, objects_at, text_at

Change = Literal["added", "removed", "reopened", "closed"]
"""added, removed: the bot. reopened, closed: the channel or the team."""

_INSTALLED: Mapping[str, Change] = {
    "add": "added",
    "add-upgrade": "reopened",
    "remove": "removed",
}
"""remove-upgrade is left out: add-upgrade follows."""

_EVENTS: Mapping[str, Change] = {
    "channelDeleted": "closed",
    "teamArchived": "closed",
    "teamDeleted": "closed",
    "teamHardDeleted": "closed",
    "channelRestored": "reopened",
    "teamRestored": "reopened",
    "teamUnarchived": "reopened",
}


def change_of(body: Body) -> Change | None:
    """Return how an activity changes where the bot can write; None if it doesn't."""
    kind = text_at(body, "type")
    if kind == "installationUpdate":
        return _INSTALLED.get(text_at(body, "action"))
    if kind != "conversationUpdate":
        return None
    if _is_named(body, "membersAdded"):
        return "added"
    if _is_named(body, "membersRemoved"):
        return "removed"
    return _EVENTS.get(text_at(body, "channelData", "eventType"))


def place_of(body: Body) -> str:
    """Return the conversation that a change is about: a channel's comes by way of its team."""
    channel = text_at(body, "channelData", "channel", "id")
    event = text_at(body, "channelData", "eventType")
    return channel if channel and event in _EVENTS else conversation_of(body)


def _is_named(body: Body, members: str) -> bool:
    bot = text_at(body, "recipient", "id")
    return bool(bot) and any(text_at(each, "id") == bot for each in objects_at(body, members))

"""A Slack event as a message, or nothing: pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from bot.adapters.slack.text import plain, without_mention
from bot.types import Message, Person, Thread

_SUBTYPES = frozenset({None, "file_share", "thread_broadcast"})

Event = Mapping[str, object]


def team_of(body: Event) -> str:
    """Return the workspace (or organisation) that an envelope was delivered for."""
    granted = _authorization(body)
    for holder in (granted, body):
        team = holder.get("team_id") or holder.get("enterprise_id")
        if isinstance(team, str):
            return team
    return ""


def bot_users_of(body: Event) -> frozenset[str]:
    """Return the bot's own user id as the envelope names it, if it does."""
    granted = _authorization(body)
    user = granted.get("user_id")
    return frozenset({user}) if granted.get("is_bot") and isinstance(user, str) else frozenset()


def message_of(
    event: Event, *, tenant: str, bot_users: frozenset[str], received_at: datetime
) -> Message | None:
    """Return the question that an event holds, or None for everything else.

    A mention and the channel's copy of it have the same id, the ts. In channels only a mention
    of the bot counts; in a direct message everything that a person writes.
    """
    channel, ts, user, text = (_text(event, key) for key in ("channel", "ts", "user", "text"))
    private = event.get("channel_type") == "im" or channel.startswith("D")
    if not (channel and ts and user) or not _is_asked(event, user, bot_users, private=private):
        return None
    return Message(
        id=ts,
        thread=Thread("slack", tenant, channel, _text(event, "thread_ts") or ts),
        author=Person(id=user),
        text=plain(without_mention(text, bot_users)),
        received_at=received_at,
        private=private,
    )


def _is_asked(event: Event, user: str, bot_users: frozenset[str], *, private: bool) -> bool:
    """Tell whether a person asks the bot."""
    if event.get("bot_id") or user in bot_users or event.get("subtype") not in _SUBTYPES:
        return False
    if event.get("type") == "app_mention" or private:
        return True
    return any(f"<@{bot}>" in _text(event, "text") for bot in bot_users)


def _authorization(body: Event) -> Event:
    granted = body.get("authorizations")
    if isinstance(granted, list) and granted and isinstance(granted[0], Mapping):
        return granted[0]
    return {}


def _text(event: Event, key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else ""

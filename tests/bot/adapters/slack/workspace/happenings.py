"""Events that Slack sends of what people do."""

from __future__ import annotations

import html
import re
import uuid
from typing import Any

from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.people import Member, Room
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.adapters.slack.workspace.reading import tombstone
from tests.bot.adapters.slack.workspace.state import Workspace

Event = dict[str, Any]
MENTION = f"<@{names.BOT_USER}>"
_SUBSCRIPTIONS = {"channel": "message.channels", "group": "message.groups", "im": "message.im"}
_TOKEN = re.compile(r"(<(?:[@#!][^<>]*|https?://[^<>]*)>)")


def typed(text: str) -> str:
    """Return a text as Slack sends what a person typed; mentions and links stay what they are."""
    parts = _TOKEN.split(text)
    return "".join(
        part if _TOKEN.fullmatch(part) else html.escape(part, quote=False) for part in parts
    )


def said(slack: Workspace, post: Post) -> list[Event]:
    """Return what Slack sends of a message: by subscription one event, two, or none."""
    room, who = slack.rooms[post.channel], slack.people[post.user]
    message = {**_message(post), **_origin(who), "event_ts": post.ts, "channel": post.channel}
    events = []
    if MENTION in message["text"] and not room.is_im and _hears(slack, room, "app_mention"):
        left_out = {"subtype", "files"} if slack.sparse_mentions else {"subtype"}
        mention = {key: value for key, value in message.items() if key not in left_out}
        events.append({**mention, "type": "app_mention"})
    if _hears(slack, room, _SUBSCRIPTIONS[room.kind]):
        events.append({**message, "channel_type": room.kind})
    return events


def changed(slack: Workspace, post: Post, before: Event) -> list[Event]:
    """Return what Slack sends of an edit."""
    room = slack.rooms[post.channel]
    after = {**_message(post), "edited": {"user": post.user, "ts": post.edited}}
    events = _revised(slack, room, "message_changed", message=after, previous_message=before)
    if MENTION in after["text"] and not room.is_im and _hears(slack, room, "app_mention"):
        again = {**after, "type": "app_mention", "channel": post.channel}
        events.append({**again, "event_ts": str(post.edited)})
    return events


def deleted(slack: Workspace, post: Post) -> list[Event]:
    """Return what Slack sends of a deletion; of a message with replies a tombstone is left."""
    room, before = slack.rooms[post.channel], _message(post)
    if slack.in_thread(post.channel, post.ts):
        left = tombstone(post.ts)
        return _revised(slack, room, "message_changed", message=left, previous_message=before)
    return _revised(slack, room, "message_deleted", deleted_ts=post.ts, previous_message=before)


def reacted(slack: Workspace, kind: str, post: Post, user: str, name: str) -> list[Event]:
    """Return what Slack sends of a reaction; ``kind`` is reaction_added or reaction_removed."""
    if not _hears(slack, slack.rooms[post.channel], kind):
        return []
    event = {
        "type": kind,
        "user": user,
        "reaction": name,
        "item_user": post.user,
        "item": {"type": "message", "channel": post.channel, "ts": post.ts},
        "event_ts": slack.next_ts(),
    }
    return [event]


def home_opened(slack: Workspace, user: str, channel: str, tab: str) -> list[Event]:
    event = {"type": "app_home_opened", "user": user, "channel": channel, "tab": tab}
    return _if_subscribed(slack, {**event, "event_ts": slack.next_ts()})


def stopped(slack: Workspace, user: str, channel: str, thread_ts: str) -> list[Event]:
    event = {
        "type": "agent_session_stopped",
        "channel": channel,
        "thread_ts": thread_ts,
        "streaming_message_ts": [],
        "user": user,
        "event_ts": slack.next_ts(),
    }
    return _if_subscribed(slack, event)


def joined(slack: Workspace, user: str, inviter: str, room: Room) -> list[Event]:
    """Return what Slack sends of somebody who came into a channel, the bot itself included."""
    ts = slack.next_ts()
    place = {"user": user, "channel": room.id, "inviter": inviter, "event_ts": ts}
    letter = "G" if room.is_private else "C"
    event = {"type": "member_joined_channel", "channel_type": letter, "team": names.TEAM, **place}
    told = {
        "type": "message",
        "subtype": "channel_join",
        "text": f"<@{user}> has joined the channel",
        "ts": ts,
        "channel_type": room.kind,
        **place,
    }
    hears = _hears(slack, room, _SUBSCRIPTIONS[room.kind])
    return _if_subscribed(slack, event) + ([told] if hears else [])


def _message(post: Post) -> Event:
    message = post.told()
    if "bot_id" not in message:
        message["client_msg_id"] = str(uuid.uuid5(uuid.NAMESPACE_OID, post.ts))
    message.pop("reactions", None)
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": message["text"]}]}
    return {"blocks": [{"type": "rich_text", "block_id": "rt", "elements": [section]}], **message}


def _origin(who: Member) -> Event:
    if not who.is_stranger:
        return {"team": who.team_id}
    return {"team": who.team_id, "user_team": who.team_id, "source_team": who.team_id}


def _revised(slack: Workspace, room: Room, subtype: str, **fields: object) -> list[Event]:
    if not _hears(slack, room, _SUBSCRIPTIONS[room.kind]):
        return []
    ts = slack.next_ts()
    place = {"channel": room.id, "channel_type": room.kind, "ts": ts, "event_ts": ts}
    return [{"type": "message", "subtype": subtype, "hidden": True, **place, **fields}]


def _hears(slack: Workspace, room: Room, subscription: str) -> bool:
    return subscription in slack.subscribed and names.BOT_USER in room.members


def _if_subscribed(slack: Workspace, event: Event) -> list[Event]:
    return [event] if event["type"] in slack.subscribed else []

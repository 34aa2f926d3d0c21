"""Events that Slack sends of what people do, their signed envelopes, and sending them by HTTP."""

from __future__ import annotations

import asyncio
import html
import json
import random
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient
from slack_sdk.signature import SignatureVerifier

from tests.fakes.slack import names
from tests.fakes.slack.exchange import Answer, Door, Json
from tests.fakes.slack.names import BOT_USER, TEAM
from tests.fakes.slack.people import Member, Room
from tests.fakes.slack.posts import Post
from tests.fakes.slack.state import Workspace
from tests.fakes.slack.web_api import tombstone

SECRET = "signing-secret"
ALICE = "U0ALICE00"

Client = TestClient[Any, Any]


def envelope(event: dict[str, Any], **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    authorization = {
        "enterprise_id": None,
        "team_id": TEAM,
        "user_id": BOT_USER,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    return {
        "token": "x",
        "team_id": TEAM,
        "api_app_id": "A0APP0000",
        "event": event,
        "type": "event_callback",
        "event_id": "Ev1",
        "event_time": 1700000000,
        "authorizations": [authorization],
        "is_ext_shared_channel": False,
        **changes,
    }


def mention(text: str, ts: str = "1700000000.000100", **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "type": "app_mention",
        "user": ALICE,
        "text": f"<@{BOT_USER}> {text}",
        "ts": ts,
        "team": TEAM,
        "channel": "C0HELP000",
        "event_ts": ts,
        **changes,
    }


def direct(text: str, ts: str = "1700000000.000200", **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "type": "message",
        "user": ALICE,
        "text": text,
        "ts": ts,
        "channel": "D0ALICE00",
        "channel_type": "im",
        "event_ts": ts,
        **changes,
    }


def signed(body: bytes, *, secret: str = SECRET, timestamp: str | None = None) -> dict[str, str]:
    at = timestamp or str(int(time.time()))
    signature = SignatureVerifier(secret).generate_signature(timestamp=at, body=body)
    return {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": at,
        "X-Slack-Signature": signature or "",
    }


async def send(client: Client, payload: dict[str, Any], **headers: str) -> ClientResponse:
    body = json.dumps(payload).encode()
    return await client.post("/slack/events", data=body, headers={**signed(body), **headers})


def app_uninstalled() -> dict[str, Any]:
    return {"type": "app_uninstalled"}


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


def enclosed(slack: Workspace, user: str, channel: str, events: Sequence[Json]) -> list[Json]:
    """Return events as Slack sends them; those of another workspace's people come from there."""
    context = {
        "is_ext_shared_channel": slack.rooms[channel].is_ext_shared,
        "team_id": slack.people[user].team_id,
        "context_team_id": names.TEAM,
    }
    return [envelope(event, event_id=slack.next_event_id(), **context) for event in events]


async def deliver(
    door: Door,
    envelopes: Sequence[Json],
    *,
    times: int = 1,
    shuffled: random.Random | None = None,
    at_once: bool = False,
) -> list[Answer]:
    """Send each envelope so often, in the order given or in any, one by one or all at once."""
    copies = [(one, attempt) for attempt in range(times) for one in envelopes]
    if shuffled:
        shuffled.shuffle(copies)
    if at_once:
        return await asyncio.gather(*(door.event(one, attempt=number) for one, number in copies))
    return [await door.event(one, attempt=number) for one, number in copies]


FORM = "application/x-www-form-urlencoded"
PATIENCE_SECONDS = 60.0
"""Slack waits 3 s, which a busy machine may need for everything at once."""


class WebDoor:
    """Sends as Slack does to the bot's one address, and waits for the answer."""

    def __init__(self, client: Client | aiohttp.ClientSession) -> None:
        self._client = client

    async def event(self, envelope: Json, *, attempt: int = 0) -> Answer:
        headers = {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": "http_timeout"}
        return await self._send(json.dumps(envelope).encode(), headers if attempt else {})

    async def interact(self, payload: Json) -> Answer:
        return await self.command({"payload": json.dumps(payload)})

    async def command(self, form: Mapping[str, str]) -> Answer:
        return await self._send(urlencode(form).encode(), {"Content-Type": FORM})

    async def _send(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        began = time.monotonic()
        try:
            status, text = await self._answer(body, {**signed(body), **headers})
        except (TimeoutError, aiohttp.ClientError):
            status, text = 0, ""
        return Answer(status, text, time.monotonic() - began)

    async def _answer(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            response = await self._client.post("/slack/events", data=body, headers=headers)
            return response.status, await response.text()

"""Activities that Teams sends of what people do, bare ones too, and sending them by HTTP."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from aiohttp import ClientResponse
from aiohttp.test_utils import TestClient

from bot.domain.interactions import Delivery, PostedRef
from bot.domain.messages import Message
from bot.platforms.teams.payloads.messages import question_of
from tests.fakes.teams import names
from tests.fakes.teams.names import BOT as BOT_ID
from tests.fakes.teams.names import BOT_NAME
from tests.fakes.teams.people import Conversation, Human, chat_of, place_of, thread_of
from tests.fakes.teams.posts import Sent, Written
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.state import Tenant

Json = dict[str, Any]
MENTION_MARKUP = f"<at>{BOT_NAME}</at>"
_MENTION_ENTITY = {
    "type": "mention",
    "mentioned": {"id": BOT_ID, "name": BOT_NAME},
    "text": MENTION_MARKUP,
}
_CLIENT_INFO = {
    "type": "clientInfo",
    "locale": "en-GB",
    "country": "GB",
    "platform": "Windows",
    "timezone": "Europe/London",
}


def message(
    teams: Tenant, human: Human, conversation: str, name: str, *, text: str, mention: bool
) -> Json:
    """Return what somebody wrote: what is typed is escaped, and copied as HTML."""
    typed = html.escape(text, quote=False)
    entities = [_CLIENT_INFO, *([_MENTION_ENTITY] if mention else [])]
    return {
        **_activity(teams, human, conversation, "message"),
        "id": name,
        "text": f"{MENTION_MARKUP}&nbsp;{typed}" if mention else typed,
        "textFormat": "plain",
        "attachments": [_html_attachment(typed, mention=mention)],
        "entities": entities,
    }


def with_files(activity: Mapping[str, Any], files: Sequence[Json]) -> Json:
    return {**activity, "attachments": [*files, *activity["attachments"]]}


def edited(teams: Tenant, post: Written, event: str, changes: Mapping[str, Any]) -> Json:
    """Return that a message was changed, or is there again."""
    told = {**post.activity, **changes, "type": "messageUpdate", **_times(teams)}
    return {**told, "channelData": {**post.activity["channelData"], "eventType": event}}


def deleted(teams: Tenant, post: Written) -> Json:
    gone = {k: v for k, v in post.activity.items() if k not in {"text", "textFormat"}}
    told = {**gone, "type": "messageDelete", "attachments": [], **_times(teams)}
    return {
        **told,
        "channelData": {**post.activity["channelData"], "eventType": "softDeleteMessage"},
    }


def reacted(teams: Tenant, human: Human, post: Sent, kind: str, key: str) -> Json:
    """Return a reaction; ``key`` is reactionsAdded or reactionsRemoved."""
    return {
        **_activity(teams, human, post.conversation, "messageReaction"),
        "replyToId": post.id,
        key: [{"type": kind}],
    }


def invoke(teams: Tenant, human: Human, where: str, name: str, value: Json, on: str) -> Json:
    """Return an invoke about a message, or about none where ``on`` is empty."""
    activity = _activity(teams, human, where, "invoke")
    about = {"replyToId": on} if on else {}
    return {**activity, "name": name, "value": value, **about, "entities": [_CLIENT_INFO]}


def valued(teams: Tenant, human: Human, post: Sent, value: Json) -> Json:
    """Return a press of Action.Submit: a message with a value and without text."""
    activity = _activity(teams, human, post.conversation, "message")
    return {**activity, "replyToId": post.id, "value": value, "entities": [_CLIENT_INFO]}


def installed(teams: Tenant, human: Human, there: Conversation, action: str) -> Json:
    activity = _activity(teams, human, there.id, "installationUpdate")
    settings = {"settings": {"selectedChannel": {"id": there.id}}}
    chosen = settings if there.kind == "channel" else {}
    return {
        **activity,
        "action": action,
        "channelData": {**activity["channelData"], **chosen, "source": {"name": "message"}},
    }


def joined(teams: Tenant, human: Human, there: Conversation, key: str, who: Sequence[Json]) -> Json:
    """Return that members came or went; ``key`` is membersAdded or membersRemoved."""
    activity = _activity(teams, human, there.id, "conversationUpdate")
    event = {"membersAdded": "teamMemberAdded", "membersRemoved": "teamMemberRemoved"}[key]
    named = {"eventType": event} if there.kind == "channel" else {}
    return {**activity, key: list(who), "channelData": {**activity["channelData"], **named}}


def _activity(teams: Tenant, human: Human, conversation: str, kind: str) -> Json:
    there = teams.conversations[place_of(conversation)]
    return {
        "type": kind,
        "id": f"f:{uuid4()}",
        **_times(teams),
        "serviceUrl": teams.url,
        "channelId": "msteams",
        "from": human.account(),
        "conversation": there.told(thread_of(conversation)),
        "recipient": teams.bot(),
        "channelData": there.channel_data(),
        "locale": "en-GB",
    }


def _times(teams: Tenant) -> Json:
    """Return the time, which is never the same twice."""
    now = datetime.now(UTC) + timedelta(milliseconds=int(teams.next_id()) % 100_000)
    told = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"timestamp": told, "localTimestamp": told, "localTimezone": "Europe/London"}


def _html_attachment(typed: str, *, mention: bool) -> Json:
    """Return the copy as HTML that Teams attaches."""
    span = (
        '<span itemscope="" itemtype="http://schema.skype.com/Mention" itemid="0">'
        f"{BOT_NAME}</span>&nbsp;"
        if mention
        else ""
    )
    return {"contentType": "text/html", "content": f"<p>{span}{typed}</p>"}


BotTestClient = TestClient[Any, Any]
BOT = names.BOT
CHANNEL = names.HELP
CHAT = chat_of(names.ALICE)
MENTION = {
    "type": "mention",
    "mentioned": {"id": BOT, "name": "Help"},
    "text": "<at>Help</at>",
}


def in_channel(teams: FakeTeams, text: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "type": "message",
        "id": "1700000000001",
        "timestamp": "2026-11-21T10:00:00.000Z",
        "serviceUrl": teams.url,
        "channelId": "msteams",
        "from": {"id": "29:alice", "name": "Alice", "aadObjectId": names.ALICE},
        "conversation": {
            "id": f"{CHANNEL};messageid=1700000000000",
            "conversationType": "channel",
            "isGroup": True,
            "tenantId": names.ENTRA,
        },
        "recipient": {"id": BOT, "name": "Help"},
        "entities": [MENTION],
        "channelData": {"tenant": {"id": names.ENTRA}, "team": {"id": names.TEAM}},
        "text": text,
        "textFormat": "plain",
        "locale": "en-GB",
        **changes,
    }


def in_person(teams: FakeTeams, text: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    conversation = {"id": CHAT, "conversationType": "personal", "tenantId": names.ENTRA}
    return in_channel(teams, text, conversation=conversation, entities=[], **changes)


def question(teams: FakeTeams, *, private: bool = False) -> Message:
    """Return a question as the endpoint hands it on."""
    asked = in_person(teams, "vpn?") if private else in_channel(teams, "<at>Help</at> vpn?")
    message = question_of(asked, tenant="acme", received_at=datetime.now(UTC))
    assert message is not None
    return message


def with_placeholder(placeholder: PostedRef | None, sent: Delivery) -> Delivery:
    """Return a delivery whose question has a placeholder."""
    return replace(sent, placeholder=placeholder)


async def send_signed(
    client: BotTestClient, teams: FakeTeams, activity: dict[str, Any], *, token: str | None = None
) -> ClientResponse:
    headers = {"Authorization": f"Bearer {token or teams.token()}"}
    return await client.post("/api/messages", json=activity, headers=headers)


PLAIN_BOT = "28:bot"
PLAIN_CLIENT_INFO = {"type": "clientInfo", "locale": "en-GB", "platform": "Windows"}


def mention_entity(name: str, who: str = PLAIN_BOT, *, text: str | None = None) -> Json:
    """Return the entity of a mention."""
    written = f"<at>{name}</at>" if text is None else text
    return {"type": "mention", "mentioned": {"id": who, "name": name}, "text": written}


def html_attachment(html: str) -> Json:
    """Return the copy as HTML that Teams attaches to each message."""
    return {"contentType": "text/html", "content": html}


def message_activity(text: str, *entities: Json, html: str = "", **changes: Any) -> Json:  # noqa: ANN401
    return {
        "type": "message",
        "id": "1700000000001",
        "timestamp": "2026-11-21T10:00:00.000Z",
        "from": {"id": "29:alice", "name": "Alice", "aadObjectId": "alice-object-id"},
        "conversation": {"id": "19:help@thread.tacv2;messageid=1700000000001"},
        "recipient": {"id": PLAIN_BOT, "name": "Help"},
        "entities": [PLAIN_CLIENT_INFO, *entities],
        "attachments": [html_attachment(html)] if html else [],
        "text": text,
        "textFormat": "plain",
        **changes,
    }

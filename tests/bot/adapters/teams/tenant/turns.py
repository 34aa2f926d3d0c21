"""Activities as Teams sends them for what people do."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from tests.bot.adapters.teams.tenant.conversations import Conversation, place_of, thread_of
from tests.bot.adapters.teams.tenant.names import BOT, BOT_NAME
from tests.bot.adapters.teams.tenant.people import Human
from tests.bot.adapters.teams.tenant.posts import Sent, Written
from tests.bot.adapters.teams.tenant.state import Tenant

Json = dict[str, Any]
MENTION = f"<at>{BOT_NAME}</at>"
_MENTIONED = {"type": "mention", "mentioned": {"id": BOT, "name": BOT_NAME}, "text": MENTION}
_CLIENT = {
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
    entities = [_CLIENT, *([_MENTIONED] if mention else [])]
    return {
        **_activity(teams, human, conversation, "message"),
        "id": name,
        "text": f"{MENTION}&nbsp;{typed}" if mention else typed,
        "textFormat": "plain",
        "attachments": [_copy(typed, mention=mention)],
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
    return {**activity, "name": name, "value": value, **about, "entities": [_CLIENT]}


def valued(teams: Tenant, human: Human, post: Sent, value: Json) -> Json:
    """Return a press of Action.Submit: a message with a value and without text."""
    activity = _activity(teams, human, post.conversation, "message")
    return {**activity, "replyToId": post.id, "value": value, "entities": [_CLIENT]}


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


def _copy(typed: str, *, mention: bool) -> Json:
    """Return the copy as HTML that Teams attaches."""
    span = (
        '<span itemscope="" itemtype="http://schema.skype.com/Mention" itemid="0">'
        f"{BOT_NAME}</span>&nbsp;"
        if mention
        else ""
    )
    return {"contentType": "text/html", "content": f"<p>{span}{typed}</p>"}

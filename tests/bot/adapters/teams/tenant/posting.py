"""What the bot posts, edits, deletes; and the conversations that it opens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.bot.adapters.teams import limits
from tests.bot.adapters.teams.tenant import streaming
from tests.bot.adapters.teams.tenant.answers import Refused
from tests.bot.adapters.teams.tenant.conversations import (
    ROOT,
    Conversation,
    chat_of,
    place_of,
    thread_of,
)
from tests.bot.adapters.teams.tenant.posts import Sent
from tests.bot.adapters.teams.tenant.roster import entered
from tests.bot.adapters.teams.tenant.state import Tenant
from tests.bot.adapters.teams.tenant.streams import stream_info

Activity = Mapping[str, Any]


@dataclass(frozen=True)
class Call:
    """What one call says of itself: where, about which activity, with which token."""

    conversation: str
    activity_id: str | None
    authorization: str


def post(teams: Tenant, call: Call, activity: Activity) -> dict[str, Any]:
    """Put an activity into a conversation; in a channel without a thread it begins one."""
    there = written_to(teams, call.conversation)
    name = f"reply-{len(teams.sent) + 1}"
    begins = there.kind == "channel" and not thread_of(call.conversation)
    where = f"{there.id}{ROOT}{name}" if begins else call.conversation
    sent = Sent(name, where, call.activity_id, activity, call.authorization)
    info = stream_info(activity)
    if info is not None:
        return _streamed(teams, there, sent, info)
    limits.check(activity)
    teams.sent.append(sent)
    if activity["type"] == "message":
        teams.visible[name] = sent
    return {"id": name}


def update(teams: Tenant, call: Call, activity: Activity) -> dict[str, Any]:
    """Show an activity instead of one that is there; everybody sees the new one."""
    written_to(teams, call.conversation)
    there = found(teams, call)
    limits.check(activity)
    if _is_two(activity):
        raise Refused("BadSyntax", "Activity resulted into multiple skype activities")
    teams.edits.append(str(activity.get("text") or ""))
    now = Sent(there.id, there.conversation, there.reply_to, activity, call.authorization)
    teams.visible[there.id] = now
    if there in teams.sent:
        teams.sent[teams.sent.index(there)] = now
    for key in [key for key in teams.views if key[1] == there.id]:
        del teams.views[key]
    return {"id": there.id}


def delete(teams: Tenant, call: Call) -> None:
    if teams.playground:
        raise Refused("DeleteActivityAPINotImplemented", "Not implemented")
    written_to(teams, call.conversation)
    del teams.visible[found(teams, call).id]


def create(teams: Tenant, wanted: Mapping[str, Any], authorization: str) -> dict[str, Any]:
    """Open somebody's personal chat, or begin a thread in a channel."""
    channel = ((wanted.get("channelData") or {}).get("channel") or {}).get("id")
    if channel:
        if not wanted.get("activity"):
            raise Refused("BadSyntax", "Incorrect conversation creation parameters")
        made = post(teams, Call(str(channel), None, authorization), wanted["activity"])
        name = str(made["id"])
        return {"id": f"{channel}{ROOT}{name}", "activityId": name}
    return {"id": _chat(teams, wanted).id}


def written_to(teams: Tenant, conversation: str) -> Conversation:
    """Return a place that the bot may write to. Raises Refused."""
    there = entered(teams, conversation)
    streaming.settle(teams)
    if there.refuses:
        raise Refused(there.refuses)
    return there


def found(teams: Tenant, call: Call) -> Sent:
    """Return what the bot has in a conversation. Raises Refused."""
    sent = teams.visible.get(call.activity_id or "")
    if sent is None or not _same(sent, call.conversation):
        raise Refused("ActivityNotFoundInConversation", "Activity not found.")
    return sent


def _streamed(
    teams: Tenant, there: Conversation, sent: Sent, info: Mapping[str, Any]
) -> dict[str, Any]:
    """Take a part of a stream; only the first is told an id."""
    begun = streaming.take(teams, there, sent, info)
    named = replace(sent, id=begun or str(info["streamId"]))
    teams.sent.append(named)
    if info["streamType"] == "final":
        teams.visible[named.id] = named
    return {"id": begun} if begun else {}


def _chat(teams: Tenant, wanted: Mapping[str, Any]) -> Conversation:
    asked = wanted.get("members") or []
    tenant = ((wanted.get("channelData") or {}).get("tenant") or {}).get("id")
    if len(asked) != 1 or not (tenant or wanted.get("tenantId")):
        raise Refused("BadSyntax", "Incorrect conversation creation parameters")
    human = teams.human(str(asked[0].get("id")))
    if human is None:
        raise Refused("BadArgument", "Failed to decrypt pairwise id")
    chat = teams.conversations.get(chat_of(human.id))
    if chat is None or not chat.has_bot:
        raise Refused(
            "BotNotInConversationRoster", "The bot is not part of the conversation roster."
        )
    return chat


def _is_two(activity: Activity) -> bool:
    """Tell whether Teams makes several messages of it: words and cards are not in one."""
    return bool(activity.get("text")) + len(activity.get("attachments") or ()) > 1


def _same(sent: Sent, conversation: str) -> bool:
    """A thread need not be named; if it is, it must be the right one."""
    named = thread_of(conversation)
    return sent.place == place_of(conversation) and named in {"", sent.thread}

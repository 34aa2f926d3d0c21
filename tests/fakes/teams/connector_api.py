"""The REST API of the fake connector: what each call takes, refuses and does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.fakes.teams import posts
from tests.fakes.teams.exchange import Refused
from tests.fakes.teams.people import ROOT, Conversation, Human, chat_of, place_of, thread_of
from tests.fakes.teams.posts import (
    LONGEST_STREAM_SECONDS,
    Sent,
    Stream,
    StreamInfo,
    check_first_part,
    stream_info,
    stream_refusal,
)
from tests.fakes.teams.state import Tenant

_MOST = 500


def show_member(teams: Tenant, conversation: str, user: str) -> dict[str, Any]:
    """Return one member, by the connector's id or the object id."""
    there = conversation_with_bot(teams, conversation)
    human = teams.human(user)
    if human is None or human.id not in there.members:
        raise Refused("MemberNotFoundInConversation", "Member not found.")
    return _member_data(teams, human)


def page_of_members(teams: Tenant, conversation: str, size: int, token: str) -> dict[str, Any]:
    """Return a page of members, and how to ask for the next."""
    there = conversation_with_bot(teams, conversation)
    everyone = [_member_data(teams, human) for human in _sorted(teams, there)]
    begin = int(token) if token.isdigit() else 0
    end = begin + min(size or _MOST, teams.page_size)
    more = {"continuationToken": str(end)} if end < len(everyone) else {}
    return {"members": everyone[begin:end], **more}


def conversation_with_bot(teams: Tenant, conversation: str) -> Conversation:
    """Return a place that the bot is in. Raises Refused."""
    there = teams.conversations.get(place_of(conversation))
    if there is None:
        raise Refused("ConversationNotFound", "Conversation not found.")
    if not there.has_bot:
        raise Refused(
            "BotNotInConversationRoster", "The bot is not part of the conversation roster."
        )
    return there


def _sorted(teams: Tenant, there: Conversation) -> list[Human]:
    return [human for human in teams.people.values() if human.id in there.members]


def _member_data(teams: Tenant, human: Human) -> dict[str, Any]:
    """The playground spells it its own way."""
    told = human.told()
    if teams.playground:
        told["userPrincipleName"] = told.pop("userPrincipalName")
    return told


def take_part(teams: Tenant, there: Conversation, sent: Sent, info: StreamInfo) -> str:
    """Begin a stream, go on with it, or end it; return the id of a new one, otherwise "".

    Raises Refused.
    """
    if there.kind != "personal":
        raise stream_refusal()
    if not teams.streams_allowed:
        raise stream_refusal()
    if not info.get("streamId"):
        return _begin_stream(teams, sent, info)
    stream = teams.streams.get(str(info["streamId"]))
    if stream is None or stream.conversation != sent.conversation:
        raise Refused("BadRequest", "The stream is not known.")
    stream.take(sent.activity, info)
    return ""


def end_overdue_streams(teams: Tenant) -> None:
    """End what has run too long; it stays as it was."""
    for stream in teams.streams.values():
        ran = teams.clock.now() - stream.began
        if stream.state == "open" and ran > LONGEST_STREAM_SECONDS:
            stream.state = "exceeded"
            teams.visible[stream.id] = _remaining_message(stream)


def stop_stream(teams: Tenant, chat: str) -> Stream:
    """Press Stop, which Teams shows while a stream is open."""
    end_overdue_streams(teams)
    stream = open_stream_in(teams, chat)
    assert stream is not None, "there is nothing to stop"
    stream.state = "stopped"
    if stream.text:
        teams.visible[stream.id] = _remaining_message(stream)
    return stream


def open_stream_in(teams: Tenant, chat: str) -> Stream | None:
    there = (each for each in teams.streams.values() if each.conversation == chat)
    return next((each for each in there if each.state == "open"), None)


def _begin_stream(teams: Tenant, sent: Sent, info: StreamInfo) -> str:
    if open_stream_in(teams, sent.conversation):
        raise stream_refusal()
    check_first_part(sent.activity, info)
    stream = Stream(sent.id, sent.conversation, teams.clock.now(), sent.reply_to)
    stream.take(sent.activity, info)
    teams.streams[stream.id] = stream
    return stream.id


def _remaining_message(stream: Stream) -> Sent:
    left = {**stream.newest, "type": "message"}
    return Sent(stream.id, stream.conversation, stream.reply_to, left, "")


Activity = Mapping[str, Any]


@dataclass(frozen=True)
class Call:
    """What one call says of itself: where, about which activity, with which token."""

    conversation: str
    activity_id: str | None
    authorization: str


def post_activity(teams: Tenant, call: Call, activity: Activity) -> dict[str, Any]:
    """Put an activity into a conversation; in a channel without a thread it begins one."""
    there = writable_conversation(teams, call.conversation)
    refuse_fields(teams, activity)
    name = f"reply-{len(teams.sent) + 1}"
    begins = there.kind == "channel" and not thread_of(call.conversation)
    where = f"{there.id}{ROOT}{name}" if begins else call.conversation
    sent = Sent(name, where, call.activity_id, activity, call.authorization)
    info = stream_info(activity)
    if info is not None:
        return _post_part(teams, there, sent, info)
    posts.check_activity(activity)
    teams.sent.append(sent)
    if activity["type"] == "message":
        teams.visible[name] = sent
    return {"id": name}


def update_activity(teams: Tenant, call: Call, activity: Activity) -> dict[str, Any]:
    """Show an activity instead of one that is there; everybody sees the new one."""
    writable_conversation(teams, call.conversation)
    there = find_post(teams, call)
    refuse_fields(teams, activity)
    posts.check_activity(activity)
    if _has_text_and_cards(activity):
        raise Refused("BadSyntax", "Activity resulted into multiple skype activities")
    teams.edits.append(str(activity.get("text") or ""))
    now = Sent(there.id, there.conversation, there.reply_to, activity, call.authorization)
    teams.visible[there.id] = now
    if there in teams.sent:
        teams.sent[teams.sent.index(there)] = now
    for key in [key for key in teams.views if key[1] == there.id]:
        del teams.views[key]
    return {"id": there.id}


def delete_activity(teams: Tenant, call: Call) -> None:
    writable_conversation(teams, call.conversation)
    del teams.visible[find_post(teams, call).id]


def create_conversation(
    teams: Tenant, wanted: Mapping[str, Any], authorization: str
) -> dict[str, Any]:
    """Open somebody's personal chat, or begin a thread in a channel."""
    channel = ((wanted.get("channelData") or {}).get("channel") or {}).get("id")
    if channel:
        if not wanted.get("activity"):
            raise Refused("BadSyntax", "Incorrect conversation creation parameters")
        made = post_activity(teams, Call(str(channel), None, authorization), wanted["activity"])
        name = str(made["id"])
        return {"id": f"{channel}{ROOT}{name}", "activityId": name}
    return {"id": _chat(teams, wanted).id}


def writable_conversation(teams: Tenant, conversation: str) -> Conversation:
    """Return a place that the bot may write to. Raises Refused."""
    there = conversation_with_bot(teams, conversation)
    end_overdue_streams(teams)
    if there.refuses:
        raise Refused(there.refuses)
    return there


def refuse_fields(teams: Tenant, activity: Activity) -> None:
    """Take no activity with a field that this tenant does not know. Raises Refused."""
    for name in sorted(teams.refused_fields & _names_in(activity)):
        raise Refused("BadArgument", f"Unknown field {name!r}.")


def _names_in(value: object) -> frozenset[str]:
    """Return the names of all fields, however deep they are."""
    if isinstance(value, Mapping):
        return frozenset(value).union(*map(_names_in, value.values()))
    return frozenset().union(*map(_names_in, value)) if isinstance(value, list) else frozenset()


def find_post(teams: Tenant, call: Call) -> Sent:
    """Return what the bot has in a conversation. Raises Refused."""
    sent = teams.visible.get(call.activity_id or "")
    if sent is None or not _is_in(sent, call.conversation):
        raise Refused("ActivityNotFoundInConversation", "Activity not found.")
    return sent


def _post_part(
    teams: Tenant, there: Conversation, sent: Sent, info: Mapping[str, Any]
) -> dict[str, Any]:
    """Take a part of a stream; only the first is told an id."""
    begun = take_part(teams, there, sent, info)
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


def _has_text_and_cards(activity: Activity) -> bool:
    """Tell whether Teams makes several messages of it: words and cards are not in one."""
    return bool(activity.get("text")) + len(activity.get("attachments") or ()) > 1


def _is_in(sent: Sent, conversation: str) -> bool:
    """A thread need not be named; if it is, it must be the right one."""
    named = thread_of(conversation)
    return sent.place == place_of(conversation) and named in {"", sent.thread}

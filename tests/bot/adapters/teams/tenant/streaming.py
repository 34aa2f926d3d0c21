"""Streams of a tenant: who may have one, and what becomes of it."""

from __future__ import annotations

from tests.bot.adapters.teams.tenant.answers import Refused
from tests.bot.adapters.teams.tenant.conversations import Conversation
from tests.bot.adapters.teams.tenant.posts import Sent
from tests.bot.adapters.teams.tenant.state import Tenant
from tests.bot.adapters.teams.tenant.streams import (
    LONGEST_SECONDS,
    Info,
    Stream,
    check_first,
    refused,
)


def take(teams: Tenant, there: Conversation, sent: Sent, info: Info) -> str:
    """Begin a stream, go on with it, or end it; return the id of a new one, otherwise "".

    Raises Refused.
    """
    if there.kind != "personal":
        if teams.playground:
            raise Refused("BadArgument", "Streaming is for personal chats.", status=405)
        raise refused()
    if not teams.streams_allowed:
        raise refused()
    if not info.get("streamId"):
        return _begun(teams, sent, info)
    stream = teams.streams.get(str(info["streamId"]))
    if stream is None or stream.conversation != sent.conversation:
        raise Refused("BadRequest", "The stream is not known.")
    stream.take(sent.activity, info)
    return ""


def settle(teams: Tenant) -> None:
    """End what has run too long; it stays as it was."""
    for stream in teams.streams.values():
        ran = teams.clock.now() - stream.began
        if stream.state == "open" and ran > LONGEST_SECONDS:
            stream.state = "exceeded"
            teams.visible[stream.id] = _left(stream)


def stop(teams: Tenant, chat: str) -> Stream:
    """Press Stop, which Teams shows while a stream is open."""
    settle(teams)
    stream = open_in(teams, chat)
    assert stream is not None, "there is nothing to stop"
    stream.state = "stopped"
    if stream.text:
        teams.visible[stream.id] = _left(stream)
    return stream


def open_in(teams: Tenant, chat: str) -> Stream | None:
    there = (each for each in teams.streams.values() if each.conversation == chat)
    return next((each for each in there if each.state == "open"), None)


def _begun(teams: Tenant, sent: Sent, info: Info) -> str:
    if open_in(teams, sent.conversation):
        raise refused()
    check_first(sent.activity, info)
    stream = Stream(sent.id, sent.conversation, teams.clock.now(), sent.reply_to)
    stream.take(sent.activity, info)
    teams.streams[stream.id] = stream
    return stream.id


def _left(stream: Stream) -> Sent:
    left = {**stream.newest, "type": "message"}
    return Sent(stream.id, stream.conversation, stream.reply_to, left, "")

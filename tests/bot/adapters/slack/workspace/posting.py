"""Writing: what the chat.* methods take, refuse and do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from tests.bot.adapters.slack.blocks import refusal, wrong_in
from tests.bot.adapters.slack.exchange import error, ok
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.adapters.slack.workspace.state import Workspace

_EDIT_TEXT_LIMIT = 4_000
_TS = re.compile(r"[0-9]+\.[0-9]+")
_UNFURLS = ("unfurl_links", "unfurl_media")


def post_message(slack: Workspace, payload: dict[str, Any]) -> web.Response:
    refused = closed(slack, payload["channel"]) or _unfit(slack, payload)
    if refused:
        return _refused(slack, refused, payload)
    post = slack.write(names.BOT_USER, payload["channel"], payload, payload.get("thread_ts"))
    return ok(channel=post.channel, ts=post.ts, message=post.told())


def post_ephemeral(slack: Workspace, payload: dict[str, Any]) -> web.Response:
    channel, user = payload["channel"], payload["user"]
    refused = closed(slack, channel) or _unfit(slack, payload)
    if not refused and slack.rooms[channel].members.isdisjoint({user}) and user in slack.people:
        refused = "user_not_in_channel"
    if refused:
        return _refused(slack, refused, payload)
    post = slack.write(names.BOT_USER, channel, payload, payload.get("thread_ts"))
    post.only_for = user
    return ok(message_ts=post.ts)


def update(slack: Workspace, payload: dict[str, Any]) -> web.Response:
    """Edit a message; blocks and metadata that are not given stay as they are."""
    post = slack.post_at(payload["channel"], payload["ts"])
    if post is None:
        return error("message_not_found")
    if post.channel in slack.archived:
        return error("is_inactive")
    given = [key for key in _UNFURLS if key in payload]
    if given:
        return error("invalid_arguments", f"{given} may not be given here")
    refused = _unfit_edit(slack, post, payload)
    if refused:
        return _refused(slack, refused, payload)
    edit(slack, post, payload)
    return ok(channel=post.channel, ts=post.ts, text=post.payload.get("text", ""))


def delete(slack: Workspace, payload: dict[str, Any]) -> web.Response:
    refused = closed(slack, payload["channel"])
    if refused:
        return error(refused)
    post = slack.post_at(payload["channel"], payload["ts"])
    if post is None or not post.by_bot:
        return error("cant_delete_message" if post else "message_not_found")
    slack.posts.remove(post)
    return ok(channel=post.channel, ts=post.ts)


def permalink(_: Workspace, arguments: dict[str, Any]) -> web.Response:
    link = f"https://acme.slack.com/archives/{arguments['channel']}"
    return ok(permalink=f"{link}/p{arguments['message_ts'].replace('.', '')}")


def set_status(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    if len(arguments.get("loading_messages") or []) > 10:
        return error("invalid_arguments", "at most 10 loading_messages")
    if not _TS.fullmatch(arguments["thread_ts"]):
        return error("invalid_thread_ts")
    slack.statuses.append(arguments["status"])
    return ok()


def set_session(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    """Change how a session stands; while it is processing, people see Stop."""
    if arguments["status"] not in {"active", "processing", "suspended", "closed"}:
        return error("invalid_arguments", "no such status")
    if arguments["channel_id"] not in slack.channels:
        return error("channel_not_found")
    slack.sessions[(arguments["channel_id"], arguments["thread_ts"])] = arguments["status"]
    return ok(status=arguments["status"])


def set_prompts(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    if not 1 <= len(arguments["prompts"]) <= 4:
        return error("invalid_arguments", "1 to 4 prompts")
    if "thread_ts" in arguments:
        return ok()  # Of an app with an agent view, Slack says that all is well and shows nothing.
    if arguments["channel_id"] not in slack.channels:
        return error("channel_not_found")
    slack.prompts.append(arguments)
    return ok()


def edit(slack: Workspace, post: Post, payload: Mapping[str, Any]) -> None:
    """Change what a message shows."""
    post.payload = {**post.payload, **payload}
    post.edited = slack.next_ts()


def closed(slack: Workspace, channel: str) -> str:
    """Return why the bot may not write in a channel, "" when it may."""
    if channel in slack.archived:
        return "is_archived"
    return "" if channel in slack.channels else absent(slack, channel)


def absent(slack: Workspace, channel: str) -> str:
    """Return the error for a channel that the bot is not in: private ones are not admitted to."""
    room = slack.rooms.get(channel)
    return "not_in_channel" if room and room.kind == "channel" else "channel_not_found"


def _unfit(slack: Workspace, payload: Mapping[str, Any]) -> str:
    if not _TS.fullmatch(payload.get("thread_ts") or "1.1"):
        return "invalid_thread_ts"
    return _unfit_metadata(payload) or refusal(payload, slack.block_types)


def _unfit_metadata(payload: Mapping[str, Any]) -> str:
    metadata = payload.get("metadata") or {}
    whole = not metadata or {"event_type", "event_payload"} <= set(metadata)
    return "" if whole else "invalid_metadata_format"


def _unfit_edit(slack: Workspace, post: Post, payload: Mapping[str, Any]) -> str:
    if not post.by_bot:
        return "cant_update_message"
    if len(payload.get("text") or "") > _EDIT_TEXT_LIMIT:
        return "msg_too_long"
    if not payload.get("text") and "blocks" not in payload:
        return "no_text"
    return _unfit(slack, {**post.payload, **payload})


def _refused(slack: Workspace, code: str, payload: Mapping[str, Any]) -> web.Response:
    wrong = wrong_in(payload.get("blocks") or [], slack.block_types)
    return error(code, *([wrong] if code == "invalid_blocks" else []))


METHODS = {
    "chat.postMessage": post_message,
    "chat.postEphemeral": post_ephemeral,
    "chat.update": update,
    "chat.delete": delete,
    "chat.getPermalink": permalink,
    "agents.sessions.setStatus": set_session,
    "assistant.threads.setStatus": set_status,
    "assistant.threads.setSuggestedPrompts": set_prompts,
    "assistant.threads.setTitle": lambda _slack, _arguments: ok(),
}

"""Reading threads and channels, page by page."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.bot.adapters.slack.exchange import error, ok, told
from tests.bot.adapters.slack.workspace.posting import absent
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.adapters.slack.workspace.state import Workspace

Messages = list[dict[str, Any]]


def replies(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    """List a thread, oldest first; its first message is on every page."""
    channel, thread = arguments["channel"], str(arguments["ts"])
    if channel not in slack.channels:
        return error(absent(slack, channel))
    listed = [post for post in slack.in_thread(channel, thread) if not post.only_for]
    root = slack.message_at(channel, thread)
    if root is None and not listed:
        return error("thread_not_found")
    metadata = told(arguments.get("include_all_metadata", ""))
    first = root.told(with_metadata=metadata) if root else tombstone(thread)
    return _page(slack, arguments, listed, [first])


def history(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    """List a channel, newest first."""
    channel = arguments["channel"]
    if channel not in slack.channels:
        return error(absent(slack, channel))
    top = [p for p in slack.in_channel(channel) if p.thread_ts is None and not p.only_for]
    return _page(slack, arguments, top[::-1], [])


def tombstone(ts: str) -> dict[str, Any]:
    """Return what stands where a message with replies was deleted."""
    return {
        "type": "message",
        "subtype": "tombstone",
        "text": "This message was deleted.",
        "user": "USLACKBOT",
        "hidden": True,
        "ts": ts,
        "thread_ts": ts,
    }


def _page(
    slack: Workspace, arguments: dict[str, Any], posts: list[Post], before: Messages
) -> web.Response:
    wanted = told(arguments.get("include_all_metadata", ""))
    listed = [post.told(with_metadata=wanted) for post in posts if _within(arguments, post.ts)]
    begin = int(arguments.get("cursor") or 0)
    end = begin + min(int(arguments.get("limit", 100)), slack.page_size)
    more = end < len(listed)
    cursor = str(end) if more else ""
    return ok(
        messages=before + listed[begin:end],
        has_more=more,
        response_metadata={"next_cursor": cursor},
    )


def _within(arguments: dict[str, Any], ts: str) -> bool:
    oldest, latest = str(arguments.get("oldest", "0")), str(arguments.get("latest", "9" * 17))
    inclusive = told(arguments.get("inclusive", ""))
    return oldest < ts < latest or (inclusive and ts in {oldest, latest})


METHODS = {"conversations.replies": replies, "conversations.history": history}

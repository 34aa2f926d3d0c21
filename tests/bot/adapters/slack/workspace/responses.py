"""Answers at a response_url: whispers, posts, and changes of the message it came from."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.bot.adapters.slack.blocks import refusal
from tests.bot.adapters.slack.exchange import error
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.posting import edit
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.adapters.slack.workspace.state import Workspace
from tests.bot.adapters.slack.workspace.tickets import Ticket


def respond(slack: Workspace, key: str, payload: dict[str, Any]) -> web.Response:
    """Take one answer at an address, and use it up a little."""
    ticket = slack.tickets.answer(key)
    if isinstance(ticket, str):
        return _refused(ticket, 404)
    original = _original(slack, ticket)
    if original and payload.get("delete_original"):
        slack.posts.remove(original)
        return web.Response(text="ok")
    unfit = refusal(payload, slack.block_types)
    if unfit:
        return _refused(unfit, 400)
    if original and payload.get("replace_original"):
        edit(slack, original, {"blocks": [], **payload})
        return web.Response(text="ok")
    say(slack, ticket.user, ticket.channel, payload)
    return web.Response(text="ok")


def say(slack: Workspace, user: str, channel: str, payload: dict[str, Any]) -> Post:
    """Show what an app answered to one person, or to all where it says so."""
    post = slack.write(names.BOT_USER, channel, payload, payload.get("thread_ts"))
    post.only_for = None if payload.get("response_type") == "in_channel" else user
    return post


def _original(slack: Workspace, ticket: Ticket) -> Post | None:
    at = (ticket.channel, ticket.ts)
    return next((post for post in slack.posts if (post.channel, post.ts) == at), None)


def _refused(code: str, status: int) -> web.Response:
    answer = error(code)
    answer.set_status(status)
    return answer

"""Reactions of the bot, and of people."""

from __future__ import annotations

import re
from typing import Any

from aiohttp import web

from tests.bot.adapters.slack.exchange import error, ok
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.posting import closed
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.adapters.slack.workspace.state import Workspace

_NAME = re.compile(r"[a-z0-9_+\-]+(::skin-tone-[2-6])?")


def add(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    post = _target(slack, arguments)
    if isinstance(post, str):
        return error(post)
    done = give(post, names.BOT_USER, arguments["name"])
    return ok() if done else error("already_reacted")


def remove(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    post = _target(slack, arguments)
    if isinstance(post, str):
        return error(post)
    done = take(post, names.BOT_USER, arguments["name"])
    return ok() if done else error("no_reaction")


def give(post: Post, user: str, name: str) -> bool:
    """Add a reaction; return False when it is there."""
    users = post.reactions.setdefault(name, [])
    if user in users:
        return False
    users.append(user)
    return True


def take(post: Post, user: str, name: str) -> bool:
    """Take a reaction away; return False when it is not there."""
    if user not in post.reactions.get(name, []):
        return False
    post.reactions[name].remove(user)
    if not post.reactions[name]:
        del post.reactions[name]
    return True


def _target(slack: Workspace, arguments: dict[str, Any]) -> Post | str:
    if not _NAME.fullmatch(arguments["name"]):
        return "invalid_name"
    channel = arguments["channel"]
    post = slack.message_at(channel, str(arguments["timestamp"]))
    return closed(slack, channel) or post or "message_not_found"


METHODS = {"reactions.add": add, "reactions.remove": remove}

"""Payloads of clicks, submissions, shortcuts and commands."""

from __future__ import annotations

from typing import Any

from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.forms import Control
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.adapters.slack.workspace.state import Workspace
from tests.bot.adapters.slack.workspace.views import View

Payload = dict[str, Any]
_COMMAND_ROOMS = {"im": "directmessage", "group": "privategroup"}


def click_on_post(
    slack: Workspace, user: str, post: Post, control: Control, chosen: object
) -> Payload:
    """Return a click on a message; of one that only its reader sees Slack sends no content."""
    container = {
        "type": "message",
        "message_ts": post.ts,
        "channel_id": post.channel,
        "is_ephemeral": post.only_for is not None,
        **({"thread_ts": post.thread_ts} if post.thread_ts else {}),
    }
    return {
        **_from(slack, user, "block_actions"),
        "container": container,
        "trigger_id": slack.tickets.trigger(user),
        "channel": channel_of(slack, post.channel),
        **({} if post.only_for else {"message": post.told(with_metadata=True)}),
        "state": {"values": post.values},
        "response_url": response_url(slack, user, post.channel, post.ts),
        "actions": [control.action(chosen, slack.next_ts())],
    }


def click_on_view(
    slack: Workspace, user: str, view: View, control: Control, chosen: object
) -> Payload:
    return {
        **_from(slack, user, "block_actions"),
        "container": {"type": "view", "view_id": view.id},
        "trigger_id": slack.tickets.trigger(user, view.id),
        "view": view.told(),
        "actions": [control.action(chosen, slack.next_ts())],
    }


def submission(slack: Workspace, user: str, view: View) -> Payload:
    return {
        **_from(slack, user, "view_submission"),
        "trigger_id": slack.tickets.trigger(user, view.id),
        "view": view.told(),
        "response_urls": [],
    }


def closing(slack: Workspace, user: str, view: View) -> Payload:
    return {**_from(slack, user, "view_closed"), "view": view.told(), "is_cleared": False}


def message_action(slack: Workspace, user: str, post: Post, callback_id: str) -> Payload:
    """Return a message shortcut, which tells less of the person and the app than a click does."""
    member = slack.people[user]
    return {
        "type": "message_action",
        "user": {"id": user, "name": member.name, "team_id": member.team_id},
        "token": "x",
        "team": {"id": names.TEAM, "domain": "acme"},
        "enterprise": None,
        "is_enterprise_install": False,
        "callback_id": callback_id,
        "trigger_id": slack.tickets.trigger(user),
        "response_url": response_url(slack, user, post.channel, None),
        "action_ts": slack.next_ts(),
        "message_ts": post.ts,
        "channel": channel_of(slack, post.channel),
        "message": post.told(),
    }


def command_form(
    slack: Workspace, user: str, channel: str, command: str, text: str
) -> dict[str, str]:
    return {
        "token": "x",
        "team_id": slack.people[user].team_id,
        "team_domain": "acme",
        "channel_id": channel,
        "channel_name": channel_of(slack, channel)["name"],
        "user_id": user,
        "user_name": slack.people[user].name,
        "command": command,
        "text": text,
        "api_app_id": names.APP,
        "is_enterprise_install": "false",
        "response_url": response_url(slack, user, channel, None),
        "trigger_id": slack.tickets.trigger(user),
    }


def channel_of(slack: Workspace, channel: str) -> dict[str, str]:
    room = slack.rooms[channel]
    return {"id": channel, "name": _COMMAND_ROOMS.get(room.kind, room.name)}


def response_url(slack: Workspace, user: str, channel: str, ts: str | None) -> str:
    return f"{slack.site}/response/{slack.tickets.response(user, channel, ts)}"


def _from(slack: Workspace, user: str, kind: str) -> Payload:
    member = slack.people[user]
    person = {"id": user, "username": member.name, "name": member.name, "team_id": member.team_id}
    return {
        "type": kind,
        "user": person,
        "api_app_id": names.APP,
        "token": "x",
        "team": {"id": names.TEAM, "domain": "acme"},
        "enterprise": None,
        "is_enterprise_install": False,
    }

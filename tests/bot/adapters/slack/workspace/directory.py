"""Looking up people, groups, rooms and files."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.bot.adapters.slack.exchange import error, ok
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.files import LOGIN_PAGE
from tests.bot.adapters.slack.workspace.people import Member, Room
from tests.bot.adapters.slack.workspace.state import Workspace


def auth_test(slack: Workspace, _: dict[str, Any]) -> web.Response:
    answer = ok(
        url="https://acme.slack.com/",
        team="Acme",
        user="frontdesk",
        user_id=names.BOT_USER,
        bot_id=names.BOT,
        team_id=names.TEAM,
    )
    answer.headers["x-oauth-scopes"] = ",".join(slack.scopes)
    return answer


def open_socket(slack: Workspace, _: dict[str, Any]) -> web.Response:
    """Give out the address of a link; the app's own token opened this, not the bot's."""
    address = slack.site.replace("http", "ws", 1)
    return ok(url=f"{address}/link?ticket={slack.tickets.socket()}")


def users_info(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    member = slack.people.get(arguments["user"])
    return _told(slack, member) if member else error("user_not_found")


def lookup_by_email(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    wanted = str(arguments["email"]).lower()
    ours = (m for m in slack.people.values() if not (m.is_stranger or m.deleted))
    found = next((m for m in ours if (m.email or "").lower() == wanted), None)
    return _told(slack, found) if found else error("users_not_found")


def group_members(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    users = slack.groups.get(arguments["usergroup"])
    return error("no_such_subteam") if users is None else ok(users=users)


def groups(slack: Workspace, _: dict[str, Any]) -> web.Response:
    listed = [{"id": each, "handle": f"group-{each[-1:]}".lower()} for each in slack.groups]
    return ok(usergroups=listed)


def room_info(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    room = _visible(slack, arguments["channel"])
    return ok(channel=room.told()) if room else error("channel_not_found")


def room_members(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    room = _visible(slack, arguments["channel"])
    if room is None:
        return error("channel_not_found")
    every = sorted(room.members)
    begin = int(arguments.get("cursor") or 0)
    end = begin + min(int(arguments.get("limit", 100)), slack.page_size)
    cursor = str(end) if end < len(every) else ""
    return ok(members=every[begin:end], response_metadata={"next_cursor": cursor})


def open_direct(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    """Open the direct conversation with one person; it is made when there is none."""
    user = str(arguments.get("users") or "")
    if not user:
        return error("users_list_not_supplied")
    member = slack.people.get(user)
    if member is None:
        return error("user_not_found")
    if member.deleted or member.is_bot:
        return error("user_disabled" if member.deleted else "cannot_dm_bot")
    room = direct(slack, user)
    return ok(channel={"id": room.id})


def direct(slack: Workspace, user: str) -> Room:
    """Return the direct conversation of a person with the bot."""
    room = slack.rooms.made(f"D{user[1:]}")
    room.members |= {user, names.BOT_USER}
    return room


def file_info(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    stored = slack.files.get(arguments["file"])
    if stored is None:
        return error("file_not_found")
    shown = type(stored)(stored.name, stored.content, stored.mimetype, stored.id)
    return ok(file=shown.told(slack.site))


def download(slack: Workspace, arguments: dict[str, Any], *, may: bool) -> web.Response:
    """Return a file, or with status 200 the page on which a person would sign in."""
    if not may:
        return web.Response(text=LOGIN_PAGE, content_type="text/html")
    stored = slack.files.get(arguments["id"])
    if stored is None:
        return web.Response(status=404)
    return web.Response(body=stored.content, content_type=stored.mimetype)


def _told(slack: Workspace, member: Member) -> web.Response:
    return ok(user=member.told(with_email="users:read.email" in slack.scopes))


def _visible(slack: Workspace, channel: str) -> Room | None:
    room = slack.rooms.get(channel)
    hidden = room and room.kind != "channel" and channel not in slack.channels
    return None if hidden else room


METHODS = {
    "apps.connections.open": open_socket,
    "auth.test": auth_test,
    "users.info": users_info,
    "users.lookupByEmail": lookup_by_email,
    "usergroups.list": groups,
    "usergroups.users.list": group_members,
    "conversations.info": room_info,
    "conversations.members": room_members,
    "conversations.open": open_direct,
    "files.info": file_info,
}

"""The Web API methods of the fake Slack: what each takes, refuses and does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from tests.fakes.slack import names
from tests.fakes.slack.blocks import refusal, wrong_in
from tests.fakes.slack.exchange import error, ok, told
from tests.fakes.slack.people import Member, Room
from tests.fakes.slack.posts import LOGIN_PAGE, Post, View, home_problem, view_problem
from tests.fakes.slack.state import Ticket, Workspace

_EDIT_TEXT_LIMIT = 4_000
_SESSION_TITLE = 200
_TS = re.compile(r"[0-9]+\.[0-9]+")
_UNFURLS = ("unfurl_links", "unfurl_media")


def post_message(slack: Workspace, payload: dict[str, Any]) -> web.Response:
    refused = closed(slack, payload["channel"]) or _unfit(slack, payload)
    if refused:
        return _refused_post(slack, refused, payload)
    post = slack.write(names.BOT_USER, payload["channel"], payload, payload.get("thread_ts"))
    return ok(channel=post.channel, ts=post.ts, message=post.told())


def post_ephemeral(slack: Workspace, payload: dict[str, Any]) -> web.Response:
    channel, user = payload["channel"], payload["user"]
    refused = closed(slack, channel) or _unfit(slack, payload)
    if not refused and slack.rooms[channel].members.isdisjoint({user}) and user in slack.people:
        refused = "user_not_in_channel"
    if refused:
        return _refused_post(slack, refused, payload)
    post = slack.write(names.BOT_USER, channel, payload, payload.get("thread_ts"))
    post.only_for = user
    return ok(message_ts=post.ts)


def update_message(slack: Workspace, payload: dict[str, Any]) -> web.Response:
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
        return _refused_post(slack, refused, payload)
    edit_post(slack, post, payload)
    return ok(channel=post.channel, ts=post.ts, text=post.payload.get("text", ""))


def delete_message(slack: Workspace, payload: dict[str, Any]) -> web.Response:
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
    if len(arguments.get("title", "")) > _SESSION_TITLE:
        return error("invalid_arguments", "title is too long")
    if arguments.get("initiator_user_id") not in {None, *slack.people}:
        return error("user_not_found")
    if arguments["channel_id"] not in slack.channels:
        return error("channel_not_found")
    slack.titles.setdefault(
        (arguments["channel_id"], arguments["thread_ts"]), arguments.get("title", "")
    )
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


def edit_post(slack: Workspace, post: Post, payload: Mapping[str, Any]) -> None:
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


def _refused_post(slack: Workspace, code: str, payload: Mapping[str, Any]) -> web.Response:
    wrong = wrong_in(payload.get("blocks") or [], slack.block_types)
    return error(code, *([wrong] if code == "invalid_blocks" else []))


CHAT_METHODS = {
    "chat.postMessage": post_message,
    "chat.postEphemeral": post_ephemeral,
    "chat.update": update_message,
    "chat.delete": delete_message,
    "chat.getPermalink": permalink,
    "agents.sessions.setStatus": set_session,
    "assistant.threads.setStatus": set_status,
    "assistant.threads.setSuggestedPrompts": set_prompts,
}


Messages = list[dict[str, Any]]


def list_replies(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
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


def list_history(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
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


READING_METHODS = {"conversations.replies": list_replies, "conversations.history": list_history}


_NAME = re.compile(r"[a-z0-9_+\-]+(::skin-tone-[2-6])?")


def add_reaction(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    post = _target(slack, arguments)
    if isinstance(post, str):
        return error(post)
    done = give_reaction(post, names.BOT_USER, arguments["name"])
    return ok() if done else error("already_reacted")


def remove_reaction(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    post = _target(slack, arguments)
    if isinstance(post, str):
        return error(post)
    done = take_reaction(post, names.BOT_USER, arguments["name"])
    return ok() if done else error("no_reaction")


def give_reaction(post: Post, user: str, name: str) -> bool:
    """Add a reaction; return False when it is there."""
    users = post.reactions.setdefault(name, [])
    if user in users:
        return False
    users.append(user)
    return True


def take_reaction(post: Post, user: str, name: str) -> bool:
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


REACTION_METHODS = {"reactions.add": add_reaction, "reactions.remove": remove_reaction}


def respond(slack: Workspace, key: str, payload: dict[str, Any]) -> web.Response:
    """Take one answer at an address, and use it up a little."""
    ticket = slack.tickets.answer(key)
    if isinstance(ticket, str):
        return _refused_response(ticket, 404)
    original = _original(slack, ticket)
    if original and payload.get("delete_original"):
        slack.posts.remove(original)
        return web.Response(text="ok")
    unfit = refusal(payload, slack.block_types)
    if unfit:
        return _refused_response(unfit, 400)
    if original and payload.get("replace_original"):
        edit_post(slack, original, {"blocks": [], **payload})
        return web.Response(text="ok")
    post_response(slack, ticket.user, ticket.channel, payload)
    return web.Response(text="ok")


def post_response(slack: Workspace, user: str, channel: str, payload: dict[str, Any]) -> Post:
    """Show what an app answered to one person, or to all where it says so."""
    post = slack.write(names.BOT_USER, channel, payload, payload.get("thread_ts"))
    post.only_for = None if payload.get("response_type") == "in_channel" else user
    return post


def _original(slack: Workspace, ticket: Ticket) -> Post | None:
    at = (ticket.channel, ticket.ts)
    return next((post for post in slack.posts if (post.channel, post.ts) == at), None)


def _refused_response(code: str, status: int) -> web.Response:
    answer = error(code)
    answer.set_status(status)
    return answer


def auth_test(slack: Workspace, _: dict[str, Any]) -> web.Response:
    answer = ok(
        url="https://acme.slack.com/",
        team="Acme",
        user="frontdesk",
        user_id=names.BOT_USER,
        bot_id=names.BOT,
        team_id=slack.organisation or names.TEAM,
        enterprise_id=slack.organisation or None,
        is_enterprise_install=bool(slack.organisation),
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


_MOST_USERS = 3
"""As ``_MOST_MEMBERS``, of a page of users."""


def users_list(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    begin = int(arguments.get("cursor") or 0)
    page, end = list(slack.people.values())[begin:], begin + _MOST_USERS
    more = str(end) if len(page) > _MOST_USERS else ""
    told = [each.told(with_email=False) for each in page[:_MOST_USERS]]
    return ok(members=told, response_metadata={"next_cursor": more})


def lookup_by_email(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    wanted = str(arguments["email"]).lower()
    ours = (m for m in slack.people.values() if not (m.is_stranger or m.deleted))
    found = next((m for m in ours if (m.email or "").lower() == wanted), None)
    return _told(slack, found) if found else error("users_not_found")


def group_members(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    users = slack.groups.get(arguments["usergroup"])
    return error("no_such_subteam") if users is None else ok(users=users)


def list_groups(slack: Workspace, _: dict[str, Any]) -> web.Response:
    listed = [{"id": each, "handle": f"group-{each[-1:]}".lower()} for each in slack.groups]
    return ok(usergroups=listed)


def room_info(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    room = _visible(slack, arguments["channel"])
    return ok(channel=room.told()) if room else error("channel_not_found")


_MOST_MEMBERS = 2
"""A page has no more, whatever is asked for: Slack may give fewer."""


def room_members(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    room = _visible(slack, arguments["channel"])
    if room is None:
        return error("channel_not_found")
    begin = int(arguments.get("cursor") or 0)
    page, end = sorted(room.members)[begin:], begin + _MOST_MEMBERS
    more = str(end) if len(page) > _MOST_MEMBERS else ""
    return ok(members=page[:_MOST_MEMBERS], response_metadata={"next_cursor": more})


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
    room = direct_room(slack, user)
    return ok(channel={"id": room.id})


def direct_room(slack: Workspace, user: str) -> Room:
    """Return the direct conversation of a person with the bot."""
    room = slack.rooms.made(f"D{user[1:]}")
    room.members |= {user, names.BOT_USER}
    return room


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


LOOKUP_METHODS = {
    "apps.connections.open": open_socket,
    "auth.test": auth_test,
    "users.info": users_info,
    "users.list": users_list,
    "users.lookupByEmail": lookup_by_email,
    "usergroups.list": list_groups,
    "usergroups.users.list": group_members,
    "conversations.info": room_info,
    "conversations.members": room_members,
    "conversations.open": open_direct,
}


def update_view(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    view = _found_view(slack, arguments)
    if view is None:
        return error("not_found")
    if arguments.get("hash") not in {None, "", view.hash}:
        return error("hash_conflict")
    wrong = view_problem(arguments["view"])
    if wrong:
        return error("invalid_arguments", wrong)
    view.change(arguments["view"])
    return ok(view=view.told())


def open_view(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    wrong = view_problem(arguments["view"])
    if wrong:
        return error("invalid_arguments", wrong)
    ticket = slack.tickets.redeem(str(arguments["trigger_id"]))
    if isinstance(ticket, str):
        return error(ticket)
    view = View(f"V{slack.next_ts().replace('.', '')}", ticket.user, arguments["view"])
    slack.open_views.append(view)
    return ok(view=view.told())


def _found_view(slack: Workspace, arguments: dict[str, Any]) -> View | None:
    external = arguments.get("external_id")
    if not external:
        return _view_by_id(slack, str(arguments.get("view_id", "")))
    views = (v for v in slack.open_views if v.payload.get("external_id") == external)
    return next(views, None)


def _view_by_id(slack: Workspace, view_id: str) -> View | None:
    return next((view for view in slack.open_views if view.id == view_id), None)


def publish_view(slack: Workspace, arguments: dict[str, Any]) -> web.Response:
    wrong = home_problem(arguments["view"])
    if wrong:
        return error("invalid_arguments", wrong)
    user = str(arguments["user_id"])
    view = View(f"V{slack.next_ts().replace('.', '')}", user, arguments["view"])
    slack.home_tabs.setdefault(user, []).append(view)
    return ok(view=view.told())


VIEW_METHODS = {
    "views.publish": publish_view,
    "views.open": open_view,
    "views.update": update_view,
}

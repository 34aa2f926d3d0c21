"""Find and fill the controls of messages and modals, and build what Slack sends of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.slack import names
from tests.fakes.slack.blocks import labels_of, parts_of
from tests.fakes.slack.posts import Post, View, block_id
from tests.fakes.slack.state import Workspace

Block = Mapping[str, Any]
Values = dict[str, dict[str, Any]]
ONE, MANY = ("static_select", "radio_buttons"), ("multi_static_select", "checkboxes")


@dataclass(frozen=True)
class Control:
    """A button, menu or field where it stands; ``side`` is one of a pair of feedback buttons."""

    block: Block
    block_id: str
    part: Mapping[str, Any]
    action_id: str
    side: Mapping[str, Any] | None = None

    def is_named(self, name: str) -> bool:
        label = str((self.block.get("label") or {}).get("text", ""))
        words = [self.side["text"]["text"]] if self.side else list(labels_of(self.part))
        buttons = words if self.side or "text" in self.part else []
        return name in {self.block_id, self.action_id, label, *buttons}

    def action(self, chosen: object, at: str) -> dict[str, Any]:
        """Return the action that Slack sends of using it."""
        kind = self.part["type"]
        place = {"action_id": self.action_id, "block_id": self.block_id, "action_ts": at}
        if self.side:
            return {"type": kind, **place, "value": self.side["value"], "text": self.side["text"]}
        if kind == "button":
            kept = {key: self.part[key] for key in ("text", "value", "url") if key in self.part}
            return {"type": kind, **kept, **place}
        return {**value_of(self.part, chosen), **place}


def controls(blocks: Sequence[Block]) -> Iterator[Control]:
    """Return everything that can be used, in the order in which it stands."""
    for at, block in enumerate(blocks):
        for number, part in enumerate(parts_of(block)):
            action_id = str(part.get("action_id") or f"action{at}.{number}")
            sides = [part.get("positive_button"), part.get("negative_button")]
            for side in sides if part["type"] == "feedback_buttons" else [None]:
                yield Control(block, block_id(block, at), part, action_id, side)


def find(blocks: Sequence[Block], name: str) -> Control:
    """Return the one control of that id or label."""
    every = list(controls(blocks))
    found = [control for control in every if control.is_named(name)]
    there = [(control.action_id, *labels_of(control.part)) for control in every]
    assert len(found) == 1, f"{len(found)} of {name!r} among {there}"
    return found[0]


def initial(blocks: Sequence[Block]) -> Values:
    """Return what is filled in before anybody touched anything."""
    values: Values = {}
    for control in controls(blocks):
        if control.part["type"] in {*ONE, *MANY, *_FREE, _USERS}:
            given = value_of(control.part, None)
            values.setdefault(control.block_id, {})[control.action_id] = given
    return values


def filled(blocks: Sequence[Block], before: Values, given: Mapping[str, object]) -> Values:
    """Return what a form holds after somebody filled fields in, named by id or label."""
    values: Values = {key: dict(value) for key, value in {**initial(blocks), **before}.items()}
    for name, chosen in given.items():
        control = find(blocks, name)
        value = value_of(control.part, chosen)
        values.setdefault(control.block_id, {})[control.action_id] = value
    return values


def unfilled(blocks: Sequence[Block], values: Values) -> list[str]:
    """Return the labels of fields without which Slack does not send a form."""
    asked = [c for c in controls(blocks) if c.block["type"] == "input"]
    needed = [c for c in asked if not c.block.get("optional")]
    empty = [c for c in needed if not _content(values[c.block_id][c.action_id])]
    return [str(control.block["label"]["text"]) for control in empty]


_USERS = "multi_users_select"
_FREE = {
    "plain_text_input": ("value", "initial_value"),
    "conversations_select": ("selected_conversation", "initial_conversation"),
    "users_select": ("selected_user", "initial_user"),
    "datepicker": ("selected_date", "initial_date"),
}


def value_of(part: Mapping[str, Any], chosen: object) -> dict[str, Any]:
    """Return a field's value as Slack sends it; None leaves what it begins with."""
    kind = part["type"]
    if kind == _USERS:
        people = part.get("initial_users", []) if chosen is None else sorted(map(str, chosen))  # type: ignore[call-overload]  # several people
        return {"type": kind, "selected_users": people}
    if kind in ONE:
        first = part.get("initial_option") if chosen is None else _option(part, str(chosen))
        return {"type": kind, "selected_option": first}
    if kind in MANY:
        several = chosen if isinstance(chosen, list | tuple | set | frozenset) else [chosen]
        begun = part.get("initial_options", [])
        options = begun if chosen is None else [_option(part, str(one)) for one in several]
        return {"type": kind, "selected_options": options}
    key, begins = _FREE[kind]
    value = part.get(begins) if chosen is None else str(chosen)
    _check_length(part, value)
    return {"type": kind, key: value}


def _option(part: Mapping[str, Any], name: str) -> dict[str, Any]:
    groups = [option for group in part.get("option_groups", []) for option in group["options"]]
    every = [*part.get("options", []), *groups]
    found = [option for option in every if name in {option["value"], option["text"]["text"]}]
    assert len(found) == 1, f"{name!r} is not offered among {[o['value'] for o in every]}"
    return dict(found[0])


def _check_length(part: Mapping[str, Any], value: str | None) -> None:
    most = part.get("max_length", 3000)
    assert not value or part.get("min_length", 0) <= len(value) <= most, f"{len(value)} characters"


def _content(value: Mapping[str, Any]) -> object:
    return next(item for key, item in value.items() if key != "type")


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
        "trigger_id": slack.tickets.trigger(user),
        "view": view.told(),
        "actions": [control.action(chosen, slack.next_ts())],
    }


def submission(slack: Workspace, user: str, view: View) -> Payload:
    return {
        **_from(slack, user, "view_submission"),
        "trigger_id": slack.tickets.trigger(user),
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

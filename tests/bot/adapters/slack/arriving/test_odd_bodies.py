"""Requests that Slack signs and that this app never asked for: answered, and never by a 5xx."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.slack.events import Client
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.web_door import WebDoor

_WHO: dict[str, Any] = {
    "team": {"id": names.TEAM, "domain": "acme"},
    "user": {"id": names.ALICE, "name": "alice"},
    "channel": {"id": names.HELP, "name": "help"},
    "trigger_id": "1.2.abc",
    "response_url": "https://hooks.slack.com/actions/T/1/x",
}
_ATTACHMENT = {
    "type": "interactive_message",
    "actions": [{"name": "game", "type": "button", "value": "chess"}],
    "callback_id": "wopr_game",
    "attachment_id": "1",
    "is_app_unfurl": False,
}
_SELECTED = {"name": "list", "type": "select", "selected_options": [{"value": "C111"}]}
_STEP = {
    "type": "workflow_step_edit",
    "callback_id": "copy_review",
    "workflow_step": {"workflow_id": "1", "step_id": "2", "inputs": {}, "outputs": []},
}
_SELECT = {"type": "block_suggestion", "action_id": "ask_person", "block_id": "b", "value": "x"}


def pressed(action_id: object, **changes: object) -> dict[str, Any]:
    action = {"type": "button", "action_id": action_id, "block_id": "b", "value": "x"}
    return {**_WHO, "type": "block_actions", "actions": [action], **changes}


ODD = [
    {**_WHO, **_ATTACHMENT},
    {**_WHO, **_ATTACHMENT, "actions": [_SELECTED], "original_message": {"text": ""}},
    {**_WHO, **_ATTACHMENT, "actions": None},
    {**_WHO, **_STEP},
    {**_WHO, **_SELECT},
    {**_WHO, "type": "dialog_submission", "callback_id": "x", "submission": {}},
    {**_WHO, "type": "dialog_suggestion", "callback_id": "x", "name": "y"},
    {**_WHO, "type": "shortcut", "callback_id": 7},
    {**_WHO, "type": "message_action", "callback_id": None, "message": None},
    {**_WHO, "type": "view_submission", "view": None},
    {**_WHO, "type": "view_submission", "view": {"callback_id": 7, "id": 7}},
    {**_WHO, "type": "view_closed", "view": {"callback_id": None}},
    {**_WHO, "type": "function_executed"},
    {**_WHO, "type": "block_actions"},
    pressed(7),
    pressed(None),
    pressed(["feedback"]),
    pressed("feedback", user=None),
    pressed("ask_person", user=None),
    pressed("ask_person", user="U1", channel="C1", container=None),
]


@pytest.mark.mended(id="slack-11")
@pytest.mark.parametrize("body", ODD, ids=lambda body: json.dumps(body)[-60:])
async def test_an_odd_body_of_our_workspace_is_no_error_of_ours(
    client: Client, inbox: KeepingInbox, body: dict[str, Any]
) -> None:
    answer = await WebDoor(client).interact(body)

    assert answer.status in {200, 400}
    assert inbox.accepted == 0

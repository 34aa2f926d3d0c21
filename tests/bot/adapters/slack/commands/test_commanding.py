"""Commands as Slack sends them, read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.chat.commands.types import (
    AllSpaces,
    AskRequest,
    CommandRequest,
    HelpRequest,
    InvalidCommand,
    PageByUrl,
    ReindexCancelRequest,
    ReindexRequest,
    ReindexStatusRequest,
    SettingsRequest,
    SpaceByName,
    StatusRequest,
    WhyRequest,
)
from bot.platforms.slack.commands.slash_commands import parse_slash_command
from tests.builders import NOON

FORM: dict[str, Any] = {
    "command": "/frontdesk",
    "text": "ask vpn?",
    "user_id": "U0ALICE00",
    "channel_id": "C0HELP000",
    "trigger_id": "13345224609.738474920.8088930838d8",
    "response_url": "https://hooks.slack.com/commands/1/2",
}


def order(name: str, text: str) -> CommandRequest | InvalidCommand:
    command = parse_slash_command({**FORM, "command": name, "text": text})
    assert command is not None
    return command.order()


@pytest.mark.parametrize(
    ("name", "text", "ordered"),
    [
        ("/frontdesk", "", HelpRequest()),
        ("/frontdesk", "help", HelpRequest()),
        ("/frontdesk", "status", StatusRequest()),
        ("/frontdesk", "why", WhyRequest()),
        ("/frontdesk", "settings", SettingsRequest()),
        ("/frontdesk", "how do I book leave?", AskRequest("how do I book leave?")),
        ("/frontdesk", "ask may &lt;b&gt; &amp;amp; be used", AskRequest("may <b> &amp; be used")),
        ("/frontdesk", "ask <@U1|bob> or <#C1|it>?", AskRequest("@bob or #it?")),
        ("/frontdesk", "reindex HR", ReindexRequest(SpaceByName("HR"))),
        ("/reindex", "R&amp;D", ReindexRequest(SpaceByName("R&D"))),
        ("/reindex", "all \u2014dry-run", ReindexRequest(AllSpaces(), dry_run=True)),
        (
            "/reindex",
            "<https://wiki.example/a?x=1&amp;y=2|page>",
            ReindexRequest(PageByUrl("https://wiki.example/a?x=1&y=2")),
        ),
        ("/reindex", "status", ReindexStatusRequest()),
        ("/reindex", "cancel HR", ReindexCancelRequest("HR")),
        ("/reindex", "help", HelpRequest()),
    ],
)
def test_what_is_typed_is_what_is_ordered(name: str, text: str, ordered: CommandRequest) -> None:
    assert order(name, text) == ordered


def test_what_can_not_be_read_is_told_with_what_can_be_said() -> None:
    read = order("/reindex", "")
    assert isinstance(read, InvalidCommand)
    assert "/reindex SPACE" in read.text


@pytest.mark.parametrize("left_out", ["user_id", "channel_id", "trigger_id", "response_url"])
def test_a_command_of_nobody_or_nowhere_is_none(left_out: str) -> None:
    assert parse_slash_command({**FORM, left_out: ""}) is None
    assert (
        parse_slash_command({key: value for key, value in FORM.items() if key != left_out}) is None
    )


def test_a_question_is_a_private_message_in_a_thread_of_its_own() -> None:
    command = parse_slash_command(FORM)
    assert command is not None

    message = command.asked("vpn?", "acme", NOON)

    assert message.private
    assert message.thread.channel == "C0HELP000"
    assert message.id == message.thread.id == "command:13345224609.738474920.8088930838d8"
    assert json.loads(message.reply_to) == {"response_url": FORM["response_url"]}

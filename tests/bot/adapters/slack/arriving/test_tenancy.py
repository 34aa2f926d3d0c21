"""One workspace or organisation is served, whatever comes and however it comes."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.chat.adapters import ChatContext
from bot.domain.settings import Settings
from bot.platforms.slack.channel import connect
from bot.platforms.slack.transport.http import mount
from bot.platforms.slack.workspace.bot_identity import workspaces_of
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.slack.events import Client, envelope, mention, send, signed
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.names import TEAM
from tests.bot.house import until

FORM = "application/x-www-form-urlencoded"
OTHER = "T0OTHER00"
ACTION = {"type": "button", "action_id": "nobody_takes_it", "value": "x"}


async def send_form(client: Client, form: dict[str, str]) -> int:
    body = urlencode(form).encode()
    headers = {**signed(body), "Content-Type": FORM}
    return (await client.post("/slack/events", data=body, headers=headers)).status


def press(**fields: object) -> dict[str, str]:
    payload = {"type": "block_actions", "user": {"id": "U0ALICE00"}, "actions": [ACTION], **fields}
    return {"payload": json.dumps(payload)}


@pytest.mark.parametrize(
    ("form", "status"),
    [
        (press(team={"id": TEAM}), 200),
        (press(team={"id": OTHER}), 403),
        (press(team=None, enterprise={"id": "E0ORG0000"}), 403),
        (press(), 403),
        (press(team={"id": OTHER}, view={"app_installed_team_id": TEAM}), 200),
        (press(team={"id": TEAM}, view={"app_installed_team_id": OTHER}), 403),
        ({"command": "/other", "team_id": TEAM}, 200),
        ({"command": "/other", "team_id": OTHER}, 403),
        ({"command": "/other"}, 403),
        ({"ssl_check": "1"}, 200),
    ],
)
async def test_buttons_forms_and_commands_of_other_workspaces_are_refused(
    client: Client, form: dict[str, str], status: int
) -> None:
    assert await send_form(client, form) == status


async def test_an_unknown_command_is_told_so(client: Client) -> None:
    body = urlencode({"command": "/other", "team_id": TEAM}).encode()
    headers = {**signed(body), "Content-Type": FORM}
    response = await client.post("/slack/events", data=body, headers=headers)

    assert "don't know this command" in await response.text()


async def test_without_a_configured_workspace_the_token_s_own_is_served(
    slack: FakeSlack, settings: Settings, inbox: KeepingInbox, office: ChatContext
) -> None:
    """Until Slack has said whose it is, events are to be sent again."""
    slack.fail("auth.test", Fault(error="internal_error", status=500))
    channel = connect(settings.model_copy(update={"slack_team_id": None}))
    app = web.Application()
    mount(app, channel, office)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        assert (await send(client, envelope(mention("vpn?")))).status == 503
        await until(lambda: channel.own.team_id)
        stranger = envelope(mention("vpn?"), team_id=OTHER, authorizations=[])
        assert (await send(client, stranger)).status == 403
        assert (await send(client, envelope(mention("vpn?")))).status == 200

    assert len(inbox.messages) == 1


async def test_an_organisation_is_served_in_all_its_workspaces(
    settings: Settings, inbox: KeepingInbox, office: ChatContext
) -> None:
    app = web.Application()
    mount(app, connect(settings.model_copy(update={"slack_team_id": "E0ORG0000"})), office)
    granted = {"enterprise_id": "E0ORG0000", "team_id": None, "is_enterprise_install": True}
    event = envelope(mention("vpn?"), team_id="T0ANY0000", authorizations=[granted])
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        assert (await send(client, event)).status == 200
        assert await send_form(client, press(team=None, enterprise={"id": "E0ORG0000"})) == 200

    assert len(inbox.messages) == 1


def test_an_event_of_a_shared_channel_is_for_whom_it_was_delivered() -> None:
    ours = envelope({}, team_id=OTHER, enterprise_id="E0OTHER00")

    assert workspaces_of(ours) == {TEAM}


async def test_too_many_events_are_acknowledged_and_told(client: Client) -> None:
    body = {"type": "app_rate_limited", "team_id": TEAM, "minute_rate_limited": 1700000000}

    assert (await send(client, body)).status == 200

"""Who is let in, and what is believed of what they send."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from structlog.testing import capture_logs

from bot.chat.adapters import ChatContext
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.transport.http import mount
from bot.web.problems import problem_middleware
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.teams.activities import Client, in_person, send
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials


@pytest.mark.parametrize("token", ["", "Bearer x", "of another bot"])
async def test_nothing_of_a_stranger_is_read(client: Client, teams: FakeTeams, token: str) -> None:
    """Reading a megabyte of small objects holds everybody up for seconds."""
    if token == "of another bot":
        token = f"Bearer {teams.token(aud='another-app')}"
    headers = {"Authorization": token, "Content-Type": "application/json"}

    response = await client.post("/api/messages", data=b"{", headers=headers)

    assert response.status == 401


@pytest.mark.parametrize("via", ["directline", "webchat", "emulator", "MSTEAMS"])
async def test_what_comes_by_another_channel_than_teams_is_refused(
    client: Client, teams: FakeTeams, inbox: KeepingInbox, via: str
) -> None:
    """One key serves many channels; in a web chat people are whoever their client says."""
    teams.endorsed = ("msteams", via)

    response = await send(client, teams, in_person(teams, "vpn?", channelId=via))

    assert response.status == 403
    assert not inbox.messages


async def test_a_tenants_id_is_the_same_in_capitals(
    teams: FakeTeams, settings: Settings, cloud: Cloud, inbox: KeepingInbox, office: ChatContext
) -> None:
    tenant = "aaaaaaaa-8888-7777-6666-bbbbbbbbbbbb"
    shouted = settings.model_copy(update={"microsoft_app_tenant_id": tenant.upper()})
    app = web.Application()
    mount(app, connect(shouted, cloud=cloud, credentials=CountingCredentials()), office)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        ours = in_person(teams, "vpn?", channelData={"tenant": {"id": tenant}})
        assert (await send(client, teams, ours)).status == 200
        assert (await send(client, teams, in_person(teams, "vpn?"))).status == 403
    assert inbox.accepted == 1


@pytest.mark.parametrize(
    "service",
    [
        "http://evil.example\\@127.0.0.1/",
        "http://evil.example\t@localhost/",
        "http://evil.example@localhost/",
        "http://127.0.0.1.evil.example/",
        "http://127.0.0.1:56150@evil.example/",
        "file://localhost/etc/passwd",
        "",
    ],
)
async def test_development_mode_believes_no_address_that_can_be_read_in_two_ways(
    teams: FakeTeams, inbox: KeepingInbox, office: ChatContext, service: str
) -> None:
    app = web.Application()
    mount(app, connect(load_settings(_env_file=None, teams_dev_mode=True, tenant="acme")), office)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        asked = in_person(teams, "vpn?", serviceUrl=service)
        response = await client.post("/api/messages", json=asked)

    assert response.status == 403
    assert not inbox.messages


async def test_development_mode_is_not_reached_by_another_name_of_this_machine(
    teams: FakeTeams, inbox: KeepingInbox, office: ChatContext
) -> None:
    """By a tunnel, or by a page that points its own name at 127.0.0.1; also beside Slack."""
    app = web.Application(middlewares=[problem_middleware])
    mount(app, connect(load_settings(_env_file=None, teams_dev_mode=True, tenant="acme")), office)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        asked, named = in_person(teams, "vpn?"), {"Host": "frontdesk.tunnel.example"}
        response = await client.post("/api/messages", json=asked, headers=named)

    assert response.status == 403
    assert not inbox.messages


async def test_what_a_client_calls_a_button_is_logged_in_short(
    client: Client, teams: FakeTeams
) -> None:
    value = {"action": {"type": "Action.Execute", "verb": "x" * 100_000, "data": {}}}
    pressed = in_person(teams, "", type="invoke", name="adaptiveCard/action", value=value)
    with capture_logs() as logs:
        assert (await send(client, teams, pressed)).status == 200
    assert max(len(str(line)) for line in logs) < 500


async def test_half_a_character_is_no_reason_to_be_asked_again(
    client: Client, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    """No database and no terminal takes one: Teams would send it again and again."""
    asked = in_person(teams, "vpn \ud83d\ude00 \ud800?", id="17\udfff")

    response = await send(client, teams, asked)

    assert response.status == 200
    assert inbox.only.text == "vpn \U0001f600 \ufffd?"
    assert inbox.only.id == "17\ufffd"

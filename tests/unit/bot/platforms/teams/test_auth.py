"""Test whose requests are taken: forged tokens, other companies, and slow or missing keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from multidict import CIMultiDict
from structlog.testing import capture_logs

from bot.chat.adapters import ChatContext
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams import auth, mount
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import Cloud
from bot.web.problems import problem_middleware
from tests.fakes.desk import KeepingInbox
from tests.fakes.teams.activities import BOT, BotTestClient, in_channel, in_person, send_signed
from tests.fakes.teams.credentials import CountingCredentials, published_keys
from tests.fakes.teams.names import APP_ID, ISSUER
from tests.fakes.teams.server import FakeTeams

pytestmark = pytest.mark.attack

PRESS = {"action": {"type": "Action.Execute", "verb": "ask_person", "data": {"about": "x"}}}
KINDS: dict[str, dict[str, Any]] = {
    "a message": {},
    "an edit": {"type": "messageUpdate", "channelData": {"eventType": "editMessage"}},
    "a deletion": {"type": "messageDelete", "channelData": {"eventType": "softDeleteMessage"}},
    "a press": {"type": "invoke", "name": "adaptiveCard/action", "value": PRESS},
    "a dialog": {"type": "invoke", "name": "task/fetch", "value": {"data": {"verb": "why"}}},
    "a thumb": {"type": "invoke", "name": "message/submitAction", "value": {}},
    "a file": {"type": "invoke", "name": "fileConsent/invoke", "value": {"action": "accept"}},
    "an installation": {"type": "installationUpdate", "action": "add"},
    "a removal": {"type": "installationUpdate", "action": "remove"},
    "a reaction": {"type": "messageReaction", "reactionsAdded": [{"type": "like"}]},
    "a new member": {"type": "conversationUpdate", "membersAdded": [{"id": BOT}]},
    "an event": {"type": "event", "name": "application/vnd.microsoft.readReceipt"},
    "something new": {"type": "somethingNew"},
}


@pytest.fixture
async def served_to_many(
    teams: FakeTeams, settings: Settings, cloud: Cloud, context: ChatContext
) -> AsyncIterator[BotTestClient]:
    """Whoever has a multi-tenant bot can be reached from every company."""
    many = settings.model_copy(update={"microsoft_app_type": "MultiTenant"})
    app = web.Application()
    mount(app, connect(many, cloud=cloud, credentials=CountingCredentials()), context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield client


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_unsigned_is_taken_whatever_it_is(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, kind: str
) -> None:
    asked = in_person(teams, "vpn?") | KINDS[kind]

    response = await client.post("/api/messages", json=asked)

    assert response.status == 401
    assert not inbox.messages
    assert not teams.sent


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_of_another_company_is_taken_whatever_it_is(
    served_to_many: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, kind: str
) -> None:
    theirs = in_channel(teams, "<at>Help</at> vpn?") | KINDS[kind]
    theirs |= {"channelData": {"tenant": {"id": "another-company"}}}

    assert (await send_signed(served_to_many, teams, theirs)).status == 403
    assert not inbox.messages
    assert not teams.sent


async def test_a_bot_of_many_companies_serves_ours(
    served_to_many: BotTestClient, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    assert (await send_signed(served_to_many, teams, in_person(teams, "vpn?"))).status == 200
    assert inbox.only.text == "vpn?"


@pytest.mark.parametrize("endorsed", [(), ("webchat",), ("directline", "MSTeams")])
async def test_a_key_that_is_not_for_teams_signs_nothing_of_teams(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, endorsed: tuple[str, ...]
) -> None:
    teams.endorsed = endorsed

    assert (await send_signed(client, teams, in_person(teams, "vpn?"))).status == 401
    assert not inbox.messages


@pytest.mark.parametrize("audience", [[], [APP_ID], [APP_ID, "x"], ["x"], {"id": APP_ID}, 5, ""])
async def test_a_token_is_for_one_bot(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, audience: object
) -> None:
    asked, token = in_person(teams, "vpn?"), teams.token(aud=audience)

    assert (await send_signed(client, teams, asked, token=token)).status == 401
    assert not inbox.messages


@pytest.mark.parametrize("order", [("good", "bad"), ("bad", "good"), ("good", "good")])
async def test_of_two_tokens_none_is_believed(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, order: Sequence[str]
) -> None:
    """A proxy in front of us may have checked the other one."""
    tokens = {"good": teams.token(), "bad": "garbage"}
    headers = CIMultiDict([("Authorization", f"Bearer {tokens[each]}") for each in order])

    response = await client.post("/api/messages", json=in_person(teams, "vpn?"), headers=headers)

    assert response.status in {400, 401}
    assert not inbox.messages


@pytest.mark.parametrize("length", [7_000, 8_190, 70_000, 1_000_000])
@pytest.mark.parametrize("dots", [0, 2])
async def test_a_token_of_any_length_is_refused(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, length: int, dots: int
) -> None:
    token = ".".join(["e" * (length // (dots + 1))] * (dots + 1))

    response = await send_signed(client, teams, in_person(teams, "vpn?"), token=token)

    assert response.status in {400, 401, 431}
    assert not inbox.messages


async def test_keys_are_changed_while_people_ask(
    client: BotTestClient, teams: FakeTeams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "_UNKNOWN_KEY_PAUSE_SECONDS", 0.0)
    old, asked = teams.token(), in_person(teams, "vpn?")
    assert (await send_signed(client, teams, asked, token=old)).status == 200

    teams.new_key("k2")
    both = [old, teams.token(key_id="k2"), old]
    assert [(await send_signed(client, teams, asked, token=each)).status for each in both] == [
        200
    ] * 3

    del teams.keys["k1"]
    teams.new_key("k3")
    later = [teams.token(key_id="k3"), old, teams.token(key_id="k2")]
    told = [(await send_signed(client, teams, asked, token=each)).status for each in later]
    assert told == [200, 401, 200]


async def test_a_new_key_while_none_can_be_fetched_is_to_be_tried_again(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is refused with 401 is lost; who has a key that we know is served meanwhile."""
    monkeypatch.setattr(auth, "_UNKNOWN_KEY_PAUSE_SECONDS", 0.0)
    assert (await send_signed(client, teams, in_person(teams, "one"))).status == 200
    teams.new_key("k2")
    teams.keys_down = True

    async def asked(text: str, key: str) -> int:
        activity = in_person(teams, text, id=text)
        return (await send_signed(client, teams, activity, token=teams.token(key_id=key))).status

    assert [await asked("two", "k2"), await asked("three", "k1")] == [503, 200]
    monkeypatch.setattr(auth, "_UNKNOWN_KEY_PAUSE_SECONDS", 300.0)
    assert await asked("two", "k2") == 503

    teams.keys_down = False
    monkeypatch.setattr(auth, "_FAILED_PAUSE_SECONDS", 0.0)
    assert await asked("two", "k2") == 200
    assert [each.text for each in inbox.messages.values()] == ["one", "three", "two"]


@pytest.mark.parametrize("token", ["", "Bearer x", "of another bot"])
async def test_nothing_of_a_stranger_is_read(
    client: BotTestClient, teams: FakeTeams, token: str
) -> None:
    """Reading a megabyte of small objects holds everybody up for seconds."""
    if token == "of another bot":
        token = f"Bearer {teams.token(aud='another-app')}"
    headers = {"Authorization": token, "Content-Type": "application/json"}

    response = await client.post("/api/messages", data=b"{", headers=headers)

    assert response.status == 401


@pytest.mark.parametrize("via", ["directline", "webchat", "emulator", "MSTEAMS"])
async def test_what_comes_by_another_channel_than_teams_is_refused(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, via: str
) -> None:
    """One key serves many channels; in a web chat people are whoever their client says."""
    teams.endorsed = ("msteams", via)

    response = await send_signed(client, teams, in_person(teams, "vpn?", channelId=via))

    assert response.status == 403
    assert not inbox.messages


async def test_a_tenants_id_is_the_same_in_capitals(
    teams: FakeTeams, settings: Settings, cloud: Cloud, inbox: KeepingInbox, context: ChatContext
) -> None:
    tenant = "aaaaaaaa-8888-7777-6666-bbbbbbbbbbbb"
    shouted = settings.model_copy(update={"microsoft_app_tenant_id": tenant.upper()})
    app = web.Application()
    mount(app, connect(shouted, cloud=cloud, credentials=CountingCredentials()), context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        ours = in_person(teams, "vpn?", channelData={"tenant": {"id": tenant}})
        assert (await send_signed(client, teams, ours)).status == 200
        assert (await send_signed(client, teams, in_person(teams, "vpn?"))).status == 403
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
    teams: FakeTeams, inbox: KeepingInbox, context: ChatContext, service: str
) -> None:
    app = web.Application()
    mount(app, connect(load_settings(_env_file=None, teams_dev_mode=True, tenant="acme")), context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        asked = in_person(teams, "vpn?", serviceUrl=service)
        response = await client.post("/api/messages", json=asked)

    assert response.status == 403
    assert not inbox.messages


async def test_development_mode_is_not_reached_by_another_name_of_this_machine(
    teams: FakeTeams, inbox: KeepingInbox, context: ChatContext
) -> None:
    """By a tunnel, or by a page that points its own name at 127.0.0.1; also beside Slack."""
    app = web.Application(middlewares=[problem_middleware])
    mount(app, connect(load_settings(_env_file=None, teams_dev_mode=True, tenant="acme")), context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        asked, named = in_person(teams, "vpn?"), {"Host": "frontdesk.tunnel.example"}
        response = await client.post("/api/messages", json=asked, headers=named)

    assert response.status == 403
    assert not inbox.messages


async def test_what_a_client_calls_a_button_is_logged_in_short(
    client: BotTestClient, teams: FakeTeams
) -> None:
    value = {"action": {"type": "Action.Execute", "verb": "x" * 100_000, "data": {}}}
    pressed = in_person(teams, "", type="invoke", name="adaptiveCard/action", value=value)
    with capture_logs() as logs:
        assert (await send_signed(client, teams, pressed)).status == 200
    assert max(len(str(line)) for line in logs) < 500


async def test_half_a_character_is_no_reason_to_be_asked_again(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    """No database and no terminal takes one: Teams would send it again and again."""
    asked = in_person(teams, "vpn \ud83d\ude00 \ud800?", id="17\udfff")

    response = await send_signed(client, teams, asked)

    assert response.status == 200
    assert inbox.only.text == "vpn \U0001f600 \ufffd?"
    assert inbox.only.id == "17\ufffd"


async def test_a_slow_issuer_stalls_nothing(
    teams: FakeTeams, settings: Settings, context: ChatContext, signing_key: RSAPrivateKey
) -> None:
    """Botbuilder fetches keys in a blocking call, in which the issuer here could not answer."""
    fetched, may = asyncio.Event(), asyncio.Event()

    async def keys(_: web.Request) -> web.Response:
        fetched.set()
        await may.wait()
        return web.json_response(published_keys({"k1": signing_key}))

    async def metadata(request: web.Request) -> web.Response:
        return web.json_response({"issuer": ISSUER, "jwks_uri": f"http://{request.host}/keys"})

    issuer = web.Application()
    issuer.router.add_get("/meta", metadata)
    issuer.router.add_get("/keys", keys)
    app = web.Application()
    async with TestServer(issuer, host="127.0.0.1") as there:
        cloud = Cloud(issuer=ISSUER, metadata_url=str(there.make_url("/meta")))
        mount(app, connect(settings, cloud=cloud, credentials=CountingCredentials()), context)
        async with _client(app) as client:
            asked = [
                asyncio.create_task(
                    send_signed(client, teams, in_person(teams, "vpn?", id=str(number)))
                )
                for number in range(5)
            ]
            await fetched.wait()
            assert not any(task.done() for task in asked)
            may.set()
            assert [(await task).status for task in asked] == [200] * 5


def _client(app: web.Application) -> BotTestClient:

    return TestClient(TestServer(app, host="127.0.0.1"))

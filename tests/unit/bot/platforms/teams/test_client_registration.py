"""Test how the bot gets its tokens, and our cures for the defects of botbuilder-core 4.17.1.

Each test of a defect shows it, so that it tells when there is none any more.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from botbuilder.core import InvokeResponse, TurnContext
from botbuilder.integration.aiohttp import CloudAdapter, ConfigurationBotFrameworkAuthentication
from botbuilder.schema import Activity, AdaptiveCardInvokeValue, ConversationReference, Entity
from botframework.connector.auth import MicrosoftAppCredentials
from botframework.connector.auth.jwt_token_extractor import JwtTokenExtractor
from msrest.universal_http.requests import ClientRetryPolicy

from bot.domain.errors import DeliveryFailed
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client import registration
from bot.platforms.teams.client.registration import (
    Cloud,
    limit_token_requests,
    registration_of,
    send_all_fields,
    speed_up_msrest,
    token_refusal_of,
)
from bot.platforms.teams.payloads.actions import parse_press
from bot.platforms.teams.payloads.activity import tenant_of
from bot.platforms.teams.payloads.messages import question_of
from tests.fakes.teams.activities import (
    MENTION,
    BotTestClient,
    in_channel,
    in_person,
    question,
    send_signed,
)
from tests.fakes.teams.credentials import LOGIN_HOST, CountingCredentials, LoginServer
from tests.fakes.teams.names import APP_ID, ENTRA
from tests.fakes.teams.server import FakeTeams

WORDS = {"type": "message", "text": "x"}


@pytest.fixture
async def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoginServer]:
    async with LoginServer().serving(tmp_path) as login:
        for name, value in login.environment().items():
            monkeypatch.setenv(name, value)
        yield login


@pytest.mark.parametrize(
    ("kind", "authority"),
    [("SingleTenant", ENTRA), ("MultiTenant", "botframework.com")],
)
async def test_each_kind_of_registration_asks_its_own_authority_once(
    teams: FakeTeams, settings: Settings, login: LoginServer, kind: str, authority: str
) -> None:
    registered = settings.model_copy(update={"microsoft_app_type": kind})
    connector = connect(registered, cloud=Cloud()).client
    for _ in range(3):
        await connector.send(question(teams).reply_to, WORDS)
    assert login.authorities == [f"https://{LOGIN_HOST}/{authority}"]
    assert len(teams.sent) == 3


async def test_a_managed_identity_is_asked_of_the_machine_without_a_secret(
    teams: FakeTeams, settings: Settings, login: LoginServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDENTITY_ENDPOINT", login.identity)
    monkeypatch.setenv("IDENTITY_HEADER", "header")
    managed = {"microsoft_app_type": "UserAssignedMSI", "microsoft_app_password": None}
    connector = connect(settings.model_copy(update=managed), cloud=Cloud()).client
    for _ in range(3):
        await connector.send(question(teams).reply_to, WORDS)
    assert login.resources == [(APP_ID, "https://api.botframework.com")]
    assert not login.authorities


@pytest.mark.parametrize(
    ("words", "why", "cure"),
    [
        ("AADSTS7000222: expired", "has expired", "MICROSOFT_APP_PASSWORD"),
        ("AADSTS7000215: Invalid", "is wrong", "MICROSOFT_APP_PASSWORD"),
        ("AADSTS700016: not found", "not in the directory", "MICROSOFT_APP_TYPE"),
        ("AADSTS90002: no tenant", "no such directory", "MICROSOFT_APP_TENANT_ID"),
        ("AADSTS1: new", "gives no token", "MICROSOFT_APP_ID"),
    ],
)
async def test_a_refused_token_is_told_in_one_line_with_its_cure(
    teams: FakeTeams, settings: Settings, login: LoginServer, words: str, why: str, cure: str
) -> None:
    login.refusal = words
    channel = connect(settings, cloud=Cloud())
    with pytest.raises(DeliveryFailed, match=why) as failed:
        await channel.client.send(question(teams).reply_to, WORDS)
    part = channel.part()
    assert (part.state, why in part.detail, cure in part.cure) == ("failed", True, True)
    assert "AADSTS" not in f"{failed.value}{part.line()}"
    assert not teams.calls
    login.refusal = ""
    await channel.client.send(question(teams).reply_to, WORDS)
    assert channel.part().state == "ready"


async def test_a_login_that_cannot_be_reached_is_told(
    teams: FakeTeams, settings: Settings, login: LoginServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    channel = connect(settings, cloud=Cloud())
    with pytest.raises(DeliveryFailed, match="cannot be reached"):
        await channel.client.send(question(teams).reply_to, WORDS)
    assert channel.part().cure == "Check the network."
    assert not login.authorities


def test_nothing_of_an_errors_own_words_is_told() -> None:
    told = str(token_refusal_of(PermissionError("secret=hunter2 AADSTS999")))
    assert "hunter2" not in told
    assert "PermissionError" in told


def test_msrest_searches_no_list_of_codes_whenever_it_is_set_up() -> None:
    """ClientRetryPolicy looks 999 codes up in a list of 501: 3.4 ms, four times an activity."""
    before = _retried()
    speed_up_msrest()
    assert isinstance(ClientRetryPolicy.safe_codes, frozenset)
    assert _retried() == before
    assert 408 in before
    assert 200 not in before


async def test_who_issues_tokens_and_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Botbuilder gives MSAL no deadline: a connection that died silently hangs for ever."""
    monkeypatch.setattr(registration, "_TOKEN_REQUEST_SECONDS", 0.1)
    limit_token_requests()
    closing = asyncio.Event()

    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await closing.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    credentials = MicrosoftAppCredentials("app", "secret")
    credentials.oauth_endpoint = f"https://127.0.0.1:{port}/tenant"
    async with server, asyncio.timeout(60.0):
        with pytest.raises(requests.RequestException):
            await asyncio.to_thread(credentials.get_access_token)
        closing.set()


def _retried() -> list[int]:
    set_up: Any = ClientRetryPolicy
    return list(set_up().policy.status_forcelist)


INVOKE = {"type": "invoke", "name": "adaptiveCard/action", "value": {"action": {"verb": "nobody"}}}


class Stock:
    """A bot as botbuilder's own examples make it; ``invoked`` is what it answers invokes with."""

    def __init__(self, adapter: CloudAdapter) -> None:
        self.adapter = adapter
        self.invoked: dict[str, Any] = {"statusCode": 200}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        answer = await self.adapter.process(request, self)
        return answer if answer is not None else web.Response(status=200)

    async def on_turn(self, context: TurnContext) -> None:
        if context.activity.type == "invoke":
            body = InvokeResponse(status=200, body=self.invoked)
            await context.send_activity(Activity(type="invokeResponse", value=body))
        else:
            await context.send_activity("x")


def stock_of(settings: Settings, cloud: Cloud, credentials: CountingCredentials | None) -> Stock:
    registration = registration_of(settings, cloud)
    given = {"credentials_factory": credentials} if credentials else {}
    return Stock(CloudAdapter(ConfigurationBotFrameworkAuthentication(registration, **given)))


async def stock_status(stock: Stock, activity: dict[str, Any], **headers: str) -> int:
    app = web.Application()
    app.router.add_post("/api/messages", stock.handle)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        response = await client.post("/api/messages", json=activity, headers=headers)
        return response.status


@pytest.fixture
def stock(settings: Settings, cloud: Cloud, credentials: CountingCredentials) -> Stock:
    return stock_of(settings, cloud, credentials)


async def test_an_invoke_that_is_answered_with_a_body_is_500(
    client: BotTestClient, teams: FakeTeams
) -> None:
    loose = load_settings(_env_file=None, teams_dev_mode=True)
    invoke = {**in_person(teams, ""), **INVOKE}
    assert await stock_status(stock_of(loose, Cloud(), None), invoke) == 500

    ours = await send_signed(client, teams, invoke)
    assert ours.status == 200
    assert (await ours.json())["statusCode"] == 200


def test_fields_of_entities_are_dropped() -> None:
    told = {"type": "https://schema.org/Message", "citation": [{"position": 1}]}
    Entity._attribute_map.pop("additional_properties", None)  # noqa: SLF001 - as it is imported
    assert "citation" not in Activity().deserialize({"entities": [told]}).serialize()["entities"][0]

    send_all_fields()
    assert Activity().deserialize({"entities": [told]}).serialize()["entities"] == [told]


def test_the_tenant_of_a_conversation_is_lost(teams: FakeTeams) -> None:
    body = in_person(teams, "vpn?")
    assert Activity().deserialize({**body}).conversation.tenant_id is None

    assert tenant_of(body) == body["conversation"]["tenantId"]


def test_stripping_the_mention_takes_the_bots_name_out_of_the_question(teams: FakeTeams) -> None:
    body = in_channel(teams, "<at>Help</at> Help me with the Help desk", entities=[MENTION])
    stripped = TurnContext.remove_recipient_mention(Activity().deserialize({**body}))
    assert "Help" not in stripped

    ours = question_of(body, tenant="acme", received_at=datetime.now(UTC))
    assert ours is not None
    assert ours.text == "Help me with the Help desk"


@pytest.mark.parametrize("token", ["garbage", "expired", "of an unknown key", "of no issuer"])
async def test_bad_tokens_are_500(
    client: BotTestClient, teams: FakeTeams, stock: Stock, token: str
) -> None:
    activity = in_person(teams, "vpn?")
    assert (await send_signed(client, teams, activity)).status == 200
    teams.new_key("k9")
    bad = {
        "garbage": "garbage",
        "expired": teams.token(exp=int(time.time()) - 3600),
        "of an unknown key": teams.token(key_id="k9"),
        "of no issuer": teams.token(iss=None),
    }[token]
    assert await stock_status(stock, activity, Authorization=f"Bearer {bad}") == 500

    assert (await send_signed(client, teams, activity, token=bad)).status == 401


async def test_the_keys_are_fetched_on_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, teams: FakeTeams, client: BotTestClient
) -> None:
    metadata = JwtTokenExtractor.get_open_id_metadata("http://127.0.0.1:1/of-this-test")
    threads: list[threading.Thread] = []

    def fetched(*_: object, **__: object) -> object:
        threads.append(threading.current_thread())
        return SimpleNamespace(
            raise_for_status=lambda: None, json=lambda: {"jwks_uri": "x", "keys": []}
        )

    monkeypatch.setattr("requests.get", fetched)
    await metadata.get("k1")
    assert set(threads) == {threading.current_thread()}

    threads.clear()
    assert (await send_signed(client, teams, in_person(teams, "vpn?"))).status == 200
    assert not threads


async def test_every_turn_makes_new_credentials(
    teams: FakeTeams, stock: Stock, channel: TeamsChannel, credentials: CountingCredentials
) -> None:
    reference = TurnContext.get_conversation_reference(
        Activity().deserialize({**in_person(teams, "vpn?")})
    )

    async def turn(_: TurnContext) -> None:
        return

    for _ in range(3):
        await stock.adapter.continue_conversation(reference, turn, APP_ID)
    assert credentials.made >= 3

    before = credentials.made
    for _ in range(3):
        await channel.client.send(json.dumps(reference.serialize()), WORDS)
    assert credentials.made == before + 1


async def test_what_goes_on_with_a_stream_is_told_no_id(
    teams: FakeTeams, channel: TeamsChannel, stock: Stock
) -> None:
    """Teams answers 202 without a body: botbuilder's own send tells of no id, and of no error."""
    there = _reference(teams)
    info = {"type": "streaminfo", "streamType": "informative", "streamSequence": 1}
    begun = {"type": "typing", "text": "Looking", "entities": [info]}
    stream = await channel.client.send(there, begun)
    assert stream

    def goes_on(number: int) -> dict[str, Any]:
        return {**begun, "entities": [{**info, "streamSequence": number, "streamId": stream}]}

    told: list[Any] = []

    async def turn(context: TurnContext) -> None:
        told.append(await context.send_activity(Activity().deserialize(goes_on(2))))

    reference = ConversationReference().deserialize(json.loads(there))
    await stock.adapter.continue_conversation(reference, turn, APP_ID)
    assert not any(each and each.id for each in told)
    assert len(told) == 1

    assert await channel.client.send(there, goes_on(3)) == ""


async def test_an_expired_secret_is_no_error_of_its_own(
    teams: FakeTeams, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but Entra's long text says which: ours is a failed delivery, with the cure."""
    reference = ConversationReference().deserialize(json.loads(_reference(teams)))

    async def turn(context: TurnContext) -> None:
        await context.send_activity("x")

    async with LoginServer().serving(tmp_path) as login:
        for name, value in login.environment().items():
            monkeypatch.setenv(name, value)
        login.refusal = "AADSTS7000222: The provided client secret keys are expired."
        stock = stock_of(settings, Cloud(), None)
        turned = stock.adapter.continue_conversation(reference, turn, APP_ID)
        with pytest.raises(PermissionError, match="AADSTS7000222"):
            # Elsewhere, since it waits for Entra on the event loop.
            await asyncio.to_thread(asyncio.run, turned)

        ours = connect(settings, cloud=Cloud())
        with pytest.raises(DeliveryFailed, match="secret has expired"):
            await ours.client.send(_reference(teams), WORDS)
    assert "MICROSOFT_APP_PASSWORD" in ours.part().cure
    assert not teams.sent


def test_presses_are_objects_in_name_only(teams: FakeTeams) -> None:
    """AdaptiveCardInvokeValue.action is declared as an object, and is a dict."""
    value = AdaptiveCardInvokeValue().deserialize({"action": {"verb": "claim"}})
    assert value.action["verb"] == "claim"
    assert not hasattr(value.action, "verb")

    body = {**in_person(teams, ""), **INVOKE}
    press = parse_press({**body, "value": {"action": {"verb": "claim", "data": {"a": 1}}}})
    assert press is not None
    assert (press.name, press.data) == ("claim", {"a": 1})


async def test_sends_share_the_threads_that_the_loop_has_by_default(
    teams: FakeTeams, channel: TeamsChannel, stock: Stock
) -> None:
    """There are CPUs + 4 of them; names are looked up in them, too."""
    asyncio.get_running_loop().set_default_executor(alone := ThreadPoolExecutor(1))
    may = threading.Event()
    alone.submit(may.wait)
    reference = TurnContext.get_conversation_reference(
        Activity().deserialize({**in_person(teams, "vpn?")})
    )

    async def turn(context: TurnContext) -> None:
        await context.send_activity("x")

    bot = APP_ID
    stuck = asyncio.create_task(stock.adapter.continue_conversation(reference, turn, bot))
    await asyncio.wait([stuck], timeout=0.3)
    assert not teams.messages

    client = await channel.client._connectors.conversations(teams.url)  # noqa: SLF001
    sent = Activity().deserialize({**WORDS, "from": {"id": "b"}})
    await client.send_to_conversation(reference.conversation.id, sent)
    assert len(teams.messages) == 1
    may.set()
    await stuck


def _reference(teams: FakeTeams) -> str:
    body = Activity().deserialize({**in_person(teams, "vpn?")})
    return json.dumps(TurnContext.get_conversation_reference(body).serialize())

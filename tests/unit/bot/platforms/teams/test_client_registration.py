"""Test how the bot gets its tokens, and our cures for the defects of botbuilder-core 4.17.1.

Each test of a defect shows it, so that it tells when there is none any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from botbuilder.core import InvokeResponse, TurnContext
from botbuilder.integration.aiohttp import CloudAdapter, ConfigurationBotFrameworkAuthentication
from botbuilder.schema import Activity, AdaptiveCardInvokeValue
from botframework.connector.auth.jwt_token_extractor import JwtTokenExtractor
from msrest.universal_http.requests import ClientRetryPolicy

from bot.domain.errors import DeliveryFailed
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import (
    Cloud,
    CredentialFactory,
    credential_factory,
    registration_of,
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
from tests.fakes.teams.credentials import LOGIN_HOST, LoginServer
from tests.fakes.teams.names import APP_ID, ENTRA
from tests.fakes.teams.server import FakeTeams

WORDS = {"type": "message", "text": "x"}


@pytest.fixture
async def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoginServer]:
    async with LoginServer().serving(tmp_path) as login:
        for name, value in login.environment().items():
            monkeypatch.setenv(name, value)
        yield login


def trusting(settings: Settings, login: LoginServer) -> CredentialFactory | None:
    """Return the registration's credential, which trusts the certificate of the login server."""
    return credential_factory(settings, Cloud(), connection_verify=str(login.trusted))


@pytest.mark.parametrize(
    ("kind", "authority"),
    [("SingleTenant", ENTRA), ("MultiTenant", "botframework.com")],
)
async def test_each_kind_of_registration_asks_its_own_authority_once(
    teams: FakeTeams, settings: Settings, login: LoginServer, kind: str, authority: str
) -> None:
    registered = settings.model_copy(update={"microsoft_app_type": kind})
    connector = connect(registered, cloud=Cloud(), credentials=trusting(registered, login)).client
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
    channel = connect(settings, cloud=Cloud(), credentials=trusting(settings, login))
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
    channel = connect(settings, cloud=Cloud(), credentials=trusting(settings, login))
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


def stock_of(settings: Settings, cloud: Cloud) -> Stock:
    registration = registration_of(settings, cloud)
    return Stock(CloudAdapter(ConfigurationBotFrameworkAuthentication(registration)))


async def stock_status(stock: Stock, activity: dict[str, Any], **headers: str) -> int:
    app = web.Application()
    app.router.add_post("/api/messages", stock.handle)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        response = await client.post("/api/messages", json=activity, headers=headers)
        return response.status


@pytest.fixture
def stock(settings: Settings, cloud: Cloud) -> Stock:
    return stock_of(settings, cloud)


async def test_an_invoke_that_is_answered_with_a_body_is_500(
    client: BotTestClient, teams: FakeTeams
) -> None:
    loose = load_settings(_env_file=None, teams_dev_mode=True)
    invoke = {**in_person(teams, ""), **INVOKE}
    assert await stock_status(stock_of(loose, Cloud()), invoke) == 500

    ours = await send_signed(client, teams, invoke)
    assert ours.status == 200
    assert (await ours.json())["statusCode"] == 200


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


def test_presses_are_objects_in_name_only(teams: FakeTeams) -> None:
    """AdaptiveCardInvokeValue.action is declared as an object, and is a dict."""
    value = AdaptiveCardInvokeValue().deserialize({"action": {"verb": "claim"}})
    assert value.action["verb"] == "claim"
    assert not hasattr(value.action, "verb")

    body = {**in_person(teams, ""), **INVOKE}
    press = parse_press({**body, "value": {"action": {"verb": "claim", "data": {"a": 1}}}})
    assert press is not None
    assert (press.name, press.data) == ("claim", {"a": 1})

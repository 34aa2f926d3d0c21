"""The defects of botbuilder-core 4.17.1 that we work around.

Each test shows the defect, so that it tells when there is none any more, and that ours is right.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from botbuilder.core import InvokeResponse, TurnContext
from botbuilder.integration.aiohttp import CloudAdapter, ConfigurationBotFrameworkAuthentication
from botbuilder.schema import Activity, AdaptiveCardInvokeValue, ConversationReference, Entity
from botframework.connector.auth.jwt_token_extractor import JwtTokenExtractor

from bot.domain.errors import DeliveryFailed
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud, registration_of, send_all_fields
from bot.platforms.teams.payloads.actions import parse_press
from bot.platforms.teams.payloads.activity import tenant_of
from bot.platforms.teams.payloads.messages import question_of
from tests.bot.adapters.teams.activities import MENTION, Client, in_channel, in_person, send
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.tenant.login import Login
from tests.bot.adapters.teams.tenant.names import APP_ID

WORDS = {"type": "message", "text": "x"}
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
    client: Client, teams: FakeTeams
) -> None:
    loose = load_settings(_env_file=None, teams_dev_mode=True)
    invoke = {**in_person(teams, ""), **INVOKE}
    assert await stock_status(stock_of(loose, Cloud(), None), invoke) == 500

    ours = await send(client, teams, invoke)
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
    client: Client, teams: FakeTeams, stock: Stock, token: str
) -> None:
    activity = in_person(teams, "vpn?")
    assert (await send(client, teams, activity)).status == 200
    teams.new_key("k9")
    bad = {
        "garbage": "garbage",
        "expired": teams.token(exp=int(time.time()) - 3600),
        "of an unknown key": teams.token(key_id="k9"),
        "of no issuer": teams.token(iss=None),
    }[token]
    assert await stock_status(stock, activity, Authorization=f"Bearer {bad}") == 500

    assert (await send(client, teams, activity, token=bad)).status == 401


async def test_the_keys_are_fetched_on_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, teams: FakeTeams, client: Client
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
    assert (await send(client, teams, in_person(teams, "vpn?"))).status == 200
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
        await channel.connector.send(json.dumps(reference.serialize()), WORDS)
    assert credentials.made == before + 1


async def test_what_goes_on_with_a_stream_is_told_no_id(
    teams: FakeTeams, channel: TeamsChannel, stock: Stock
) -> None:
    """Teams answers 202 without a body: botbuilder's own send tells of no id, and of no error."""
    there = _reference(teams)
    info = {"type": "streaminfo", "streamType": "informative", "streamSequence": 1}
    begun = {"type": "typing", "text": "Looking", "entities": [info]}
    stream = await channel.connector.send(there, begun)
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

    assert await channel.connector.send(there, goes_on(3)) == ""


async def test_an_expired_secret_is_no_error_of_its_own(
    teams: FakeTeams, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but Entra's long text says which: ours is a failed delivery, with the cure."""
    reference = ConversationReference().deserialize(json.loads(_reference(teams)))

    async def turn(context: TurnContext) -> None:
        await context.send_activity("x")

    async with Login().serving(tmp_path) as login:
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
            await ours.connector.send(_reference(teams), WORDS)
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

    client = await channel.connector._clients.conversations(teams.url)  # noqa: SLF001
    sent = Activity().deserialize({**WORDS, "from": {"id": "b"}})
    await client.send_to_conversation(reference.conversation.id, sent)
    assert len(teams.messages) == 1
    may.set()
    await stuck


def _reference(teams: FakeTeams) -> str:
    body = Activity().deserialize({**in_person(teams, "vpn?")})
    return json.dumps(TurnContext.get_conversation_reference(body).serialize())

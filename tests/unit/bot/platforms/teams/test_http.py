"""Test activities by HTTP: what the inbox holds, what Teams is told, any value in any field."""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.chat.adapters import ChatContext
from bot.domain.errors import InboxFull, InboxUnavailable, RateExceeded
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams import mount
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.payloads.activity import conversation_in
from tests.fakes.desk import KeepingInbox
from tests.fakes.http_server import wait_until
from tests.fakes.teams.activities import (
    BOT,
    CHANNEL,
    CHAT,
    MENTION,
    BotTestClient,
    in_channel,
    in_person,
    send_signed,
)
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.names import APP_ID
from tests.fakes.teams.server import FakeTeams

pytestmark = pytest.mark.attack


async def test_a_mention_in_a_channel_becomes_a_message_in_its_thread(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    response = await send_signed(client, teams, in_channel(teams, "<at>Help</at> vpn down?"))
    assert response.status == 200
    message = inbox.only
    assert message.key == "teams:acme:19%3Ahelp%40thread.tacv2:1700000000001"
    assert (message.thread.channel, message.thread.id) == (CHANNEL, "1700000000000")
    assert message.text == "vpn down?"
    assert (message.author.id, message.author.name) == ("alice-object-id", "Alice")
    assert not message.private


async def test_a_personal_chat_is_private_and_needs_no_mention(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    await send_signed(client, teams, in_person(teams, "vpn down?"))
    assert inbox.only.private
    assert inbox.only.thread.id == inbox.only.thread.channel == CHAT


async def test_the_same_activity_twice_is_one_message(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    for _ in range(2):
        await send_signed(client, teams, in_person(teams, "vpn?"))
    assert inbox.accepted == 2
    assert len(inbox.messages) == 1


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("<at>Help</at> Help me with the Help desk", "Help me with the Help desk"),
        ("<at>Help</at>&nbsp;vpn?", "vpn?"),
        ("hey <at>Help</at> vpn?", "hey vpn?"),
        ("<at>Help</at> <at>Bob</at> is locked out", "Bob is locked out"),
        ("<at>Help</at>", ""),
    ],
)
async def test_stripping_the_mention_leaves_the_bots_name_elsewhere(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, text: str, asked: str
) -> None:
    """Botbuilder's remove_recipient_mention deletes the bot's name everywhere."""
    bob = {"type": "mention", "mentioned": {"id": "29:bob"}, "text": "<at>Bob</at>"}
    await send_signed(client, teams, in_channel(teams, text, entities=[bob, MENTION]))
    assert inbox.only.text == asked


@pytest.mark.parametrize(
    "changes",
    [
        {"entities": []},
        {"entities": [{"type": "mention"}, {"type": "clientInfo", "country": "GB"}]},
        {"from": {"id": BOT}},
        {"from": {"id": "28:other", "role": "bot"}},
        {"from": None},
        {"conversation": None},
        {"value": {"action": "x"}, "text": None},
        {"type": "messageReaction", "reactionsAdded": [{"type": "like"}]},
        {"type": "conversationUpdate", "membersAdded": [{"id": BOT}]},
        {"type": "installationUpdate", "action": "add"},
        {"type": "messageUpdate", "entities": []},
        {"type": "messageUpdate", "from": {"id": "28:other", "role": "bot"}},
        {"type": "messageDelete"},
        {"type": "event", "name": "application/vnd.microsoft.readReceipt"},
        {"type": "somethingNew", "surprise": [1, {"a": None}]},
    ],
    ids=str,
)
async def test_what_nobody_asked_is_answered_200_and_left(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, changes: dict[str, Any]
) -> None:
    """Teams stops delivering to a bot that answers system activities with 500."""
    response = await send_signed(client, teams, {**in_channel(teams, "hello"), **changes})
    assert response.status == 200
    assert not inbox.messages


@pytest.mark.parametrize(
    "name", ["message/submitAction", "composeExtension/query", "actionableMessage/executeAction"]
)
async def test_invokes_are_answered_with_an_empty_object(
    client: BotTestClient, teams: FakeTeams, name: str
) -> None:
    """Botbuilder's own handler answers every invoke that returns a body with 500."""
    response = await send_signed(
        client, teams, in_person(teams, "", type="invoke", name=name, value={})
    )
    assert response.status == 200
    assert await response.json() == {}


@pytest.mark.mended(id="attack-10")
async def test_what_is_far_beyond_a_rate_is_acknowledged_and_dropped(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    inbox.error = RateExceeded("flood", retry_after_seconds=9)

    assert (await send_signed(client, teams, in_person(teams, "vpn?"))).status == 200


@pytest.mark.parametrize("error", [InboxFull("full"), InboxUnavailable("down"), RuntimeError("x")])
async def test_what_the_inbox_did_not_keep_is_not_acknowledged(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, error: Exception
) -> None:
    inbox.error = error
    response = await send_signed(client, teams, in_person(teams, "vpn?"))
    assert response.status == 503
    assert await response.text() == ""


async def test_a_question_is_acknowledged_without_a_token_request_or_a_send(
    client: BotTestClient, teams: FakeTeams, credentials: CountingCredentials
) -> None:
    await send_signed(client, teams, in_person(teams, "vpn?"))
    assert credentials.fetched == 0
    assert not teams.sent


FORGED = generate_private_key(public_exponent=65537, key_size=2048)
HOUR = 3600


def refused_tokens(teams: FakeTeams) -> dict[str, str]:
    now = int(time.time())
    good = teams.token()
    head, claims, signature = good.split(".")
    unsigned = jwt.encode({"iss": "https://api.botframework.com"}, "", algorithm="none")
    secret = "x" * 64
    body = {"iss": "https://api.botframework.com", "aud": APP_ID, "serviceurl": teams.url}
    return {
        "nothing": "",
        "garbage": "Bearer garbage",
        "three dots": "Bearer a.b.c",
        "not ascii": "Bearer \u00e9.\u00e9.\u00e9",
        "another scheme": f"Basic {good}",
        "no scheme": good,
        "two spaces": f"Bearer  {good}",
        "a tail": f"Bearer {good} x",
        "expired": f"Bearer {teams.token(exp=now - HOUR, nbf=now - 2 * HOUR)}",
        "not valid yet": f"Bearer {teams.token(nbf=now + HOUR)}",
        "no expiry": f"Bearer {teams.token(exp=None)}",
        "expiry is no number": f"Bearer {teams.token(exp='soon')}",
        "another audience": f"Bearer {teams.token(aud='another-app')}",
        "no audience": f"Bearer {teams.token(aud=None)}",
        "audience in a list": f"Bearer {teams.token(aud=['x', APP_ID])}",
        "another issuer": f"Bearer {teams.token(iss='https://evil.example')}",
        "no issuer": f"Bearer {teams.token(iss=None)}",
        "an emulator's issuer": "Bearer "
        + teams.token(iss="https://sts.windows.net/d6d49420-f39b-4df7-a1dc-d59a935871db/"),
        "another service url": f"Bearer {teams.token(serviceurl='https://evil.example')}",
        "no service url": f"Bearer {teams.token(serviceurl=None)}",
        "cut signature": f"Bearer {head}.{claims}.{signature[:-6]}",
        "no signature": f"Bearer {head}.{claims}.",
        "changed claims": f"Bearer {head}.{claims[:-4]}AAAA.{signature}",
        "unsigned": f"Bearer {unsigned}",
        "signed with a secret": "Bearer "
        + jwt.encode(body, secret, algorithm="HS256", headers={"kid": "k1"}),
        "forged key of a known name": "Bearer "
        + jwt.encode(body, FORGED, algorithm="RS256", headers={"kid": "k1"}),
        "unknown key": "Bearer "
        + jwt.encode(body, FORGED, algorithm="RS256", headers={"kid": "k9"}),
        "no key named": "Bearer " + jwt.encode(body, FORGED, algorithm="RS256"),
        "a key by address": "Bearer "
        + jwt.encode(
            body, FORGED, algorithm="RS256", headers={"kid": "k1", "jku": "https://evil.example"}
        ),
    }


NAMES = list(refused_tokens(FakeTeams(keys={"k1": FORGED}, url="http://127.0.0.1")))


@pytest.mark.mended(id="teams-7")
@pytest.mark.parametrize("name", NAMES)
async def test_a_forged_or_stale_token_is_refused_and_never_an_error_of_ours(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, name: str
) -> None:
    """Botbuilder answers 500 to most of these."""
    headers = {"Authorization": refused_tokens(teams)[name]}
    activity = in_person(teams, "vpn?")
    response = await client.post("/api/messages", json=activity, headers=headers)
    assert response.status == 401
    assert not inbox.messages


@pytest.mark.mended(id="attack-11")
async def test_an_activity_that_names_no_service_is_not_what_its_token_is_for(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    assert (
        await send_signed(client, teams, in_person(teams, "vpn?", serviceUrl=None))
    ).status == 401
    assert not inbox.messages


UNREAD: dict[str, object] = {
    "localTimestamp": "yesterday",
    "timestamp": {"a": 1},
    "historyDisclosed": "yes",
    "listenFor": "x",
    "textHighlights": [1],
    "attachments": ["x", {"contentType": 5}, {"contentType": "text/html", "content": [1]}],
    "entities": "x",
    "conversation": {"id": CHAT, "conversationType": "personal", "isGroup": "no", "name": [1]},
}


@pytest.mark.mended(id="teams-7")
@pytest.mark.parametrize("name", UNREAD)
async def test_a_field_of_an_odd_shape_refuses_no_question(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, name: str
) -> None:
    asked = in_person(teams, "vpn?") | {name: UNREAD[name]}
    assert (await send_signed(client, teams, asked)).status == 200
    assert inbox.only.text == "vpn?"
    assert conversation_in(inbox.only.reply_to) == CHAT


async def test_a_valid_token_from_another_channel_than_its_key_is_for_is_refused(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    response = await send_signed(client, teams, in_person(teams, "vpn?", channelId="directline"))
    assert response.status == 401
    assert not inbox.messages


@pytest.mark.parametrize("tenant", ["another-tenant", None])
async def test_another_company_is_refused(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, tenant: str | None
) -> None:
    """Botbuilder's conversation.tenant_id is always None, so it is read from channelData."""
    strange = in_person(teams, "vpn?", channelData={"tenant": {"id": tenant}})
    strange["conversation"]["tenantId"] = tenant
    assert (await send_signed(client, teams, strange)).status == 403
    assert not inbox.messages


async def test_a_key_that_is_new_is_fetched(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Botbuilder fails with IndexError on a key it does not know, for up to a day."""
    await send_signed(client, teams, in_person(teams, "one"))
    teams.new_key("k2")
    monkeypatch.setattr("bot.platforms.teams.auth._UNKNOWN_KEY_PAUSE_SECONDS", 0.0)
    response = await send_signed(
        client, teams, in_person(teams, "two"), token=teams.token(key_id="k2")
    )
    assert response.status == 200


async def test_unknown_keys_do_not_make_us_fetch_for_every_request(
    client: BotTestClient, teams: FakeTeams
) -> None:
    forged = jwt.encode(
        {"iss": "https://api.botframework.com"}, FORGED, algorithm="RS256", headers={"kid": "k9"}
    )
    for _ in range(5):
        await send_signed(client, teams, in_person(teams, "x"), token=forged)
    assert teams.calls.count("meta") == 1


async def test_while_the_keys_cannot_be_fetched_teams_is_to_try_again(
    teams: FakeTeams, settings: Settings, cloud: Cloud, inbox: KeepingInbox, context: ChatContext
) -> None:
    teams.keys_down = True
    app = web.Application()
    mount(app, connect(settings, cloud=cloud, credentials=CountingCredentials()), context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        assert (await send_signed(client, teams, in_person(teams, "vpn?"))).status == 503
        teams.keys_down = False
        assert (await send_signed(client, teams, in_person(teams, "vpn?"))).status == 200
    assert inbox.only.text == "vpn?"


async def test_the_keys_are_fetched_before_anyone_asks(
    client: BotTestClient, teams: FakeTeams
) -> None:
    """Botbuilder fetches them at the first activity, in a blocking call."""
    await wait_until(lambda: teams.calls == ["meta"])
    await send_signed(client, teams, in_person(teams, "vpn?"))
    assert teams.calls == ["meta"]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"{}", "application/json", 400),
        (b'{"type":5}', "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"type":"message","serviceUrl":"http://x","from":5}', "application/json", 400),
        (b'{"type":"message"}', "text/plain", 415),
        (b" " * 1_000_001, "application/json", 413),
    ],
)
async def test_what_is_no_activity_is_refused(
    client: BotTestClient, teams: FakeTeams, body: bytes, kind: str, status: int
) -> None:
    headers = {"Content-Type": kind, "Authorization": f"Bearer {teams.token()}"}
    response = await client.post("/api/messages", data=body, headers=headers)
    assert response.status == status


async def _in_development(context: ChatContext, activity: dict[str, Any]) -> int:
    settings = load_settings(_env_file=None, teams_dev_mode=True, tenant="acme")
    app = web.Application()
    mount(app, connect(settings), context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        response = await client.post("/api/messages", json=activity)
        return response.status


async def test_development_mode_needs_no_token(
    teams: FakeTeams, inbox: KeepingInbox, context: ChatContext
) -> None:
    assert await _in_development(context, in_person(teams, "vpn?")) == 200
    assert inbox.only.text == "vpn?"


async def test_development_mode_answers_this_machine_only(
    teams: FakeTeams, inbox: KeepingInbox, context: ChatContext
) -> None:
    away = in_person(teams, "vpn?", serviceUrl="https://evil.example/")
    assert await _in_development(context, away) == 403
    assert not inbox.messages


TAKEN_OR_REFUSED = {200, 400, 401, 403, 413}
KINDS = (
    "message",
    "messageUpdate",
    "messageDelete",
    "messageReaction",
    "conversationUpdate",
    "installationUpdate",
    "invoke",
    "event",
    "typing",
    "anythingNew",
)
INVOKE_NAMES = (
    "adaptiveCard/action",
    "task/fetch",
    "task/submit",
    "message/submitAction",
    "message/fetchTask",
    "fileConsent/invoke",
    "anything/new",
)
FIELDS = (
    "id",
    "text",
    "from",
    "conversation",
    "recipient",
    "entities",
    "attachments",
    "channelData",
    "value",
    "replyToId",
    "membersAdded",
    "membersRemoved",
    "reactionsAdded",
    "reactionsRemoved",
    "action",
    "timestamp",
    "localTimestamp",
    "historyDisclosed",
    "listenFor",
    "textHighlights",
    "locale",
    "serviceUrl",
    "channelId",
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("id", "data", "verb", "action", "type", "text", "actionValue"))
            | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    kind=st.sampled_from(KINDS),
    name=st.sampled_from(INVOKE_NAMES),
    changes=st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=5),
)
async def test_any_value_in_any_field_is_taken_or_refused(
    client: BotTestClient, teams: FakeTeams, kind: str, name: str, changes: dict[str, Any]
) -> None:
    activity = {**in_channel(teams, "<at>Help</at> vpn?"), "name": name, **changes, "type": kind}
    response = await send_signed(client, teams, activity)
    assert response.status in TAKEN_OR_REFUSED
    if response.status == 200 and kind == "invoke":
        assert isinstance(await response.json(), dict)


@pytest.mark.parametrize("kind", ["message", "invoke", "messageReaction", "anythingNew"])
async def test_what_is_nested_deeply_is_taken_or_refused(
    client: BotTestClient, teams: FakeTeams, kind: str
) -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = {"value": [deep]}
    activity = {**in_channel(teams, "vpn?"), "type": kind, "value": deep, "channelData": deep}
    assert (await send_signed(client, teams, activity)).status in TAKEN_OR_REFUSED


async def test_as_much_as_is_read_is_taken(
    client: BotTestClient, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    activity = in_channel(teams, "<at>Help</at> " + "vpn " * 200_000)
    assert (await send_signed(client, teams, activity)).status == 200
    assert inbox.accepted == 1


async def test_an_unknown_invoke_is_answered_with_an_empty_object(
    client: BotTestClient, teams: FakeTeams
) -> None:
    invoke = {**in_channel(teams, ""), "type": "invoke", "name": "anything/new", "value": [1]}
    response = await send_signed(client, teams, invoke)
    assert (response.status, await response.json()) == (200, {})

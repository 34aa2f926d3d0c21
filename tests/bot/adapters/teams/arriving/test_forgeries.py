"""Whoever is not Microsoft, for our bot, from our company: refused, and never an error of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from multidict import CIMultiDict

from bot.chat.adapters import ChatContext
from bot.domain.settings import Settings
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.transport import auth
from bot.platforms.teams.transport.http import mount
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.teams.activities import BOT, Client, in_channel, in_person, send
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.tenant.names import APP_ID

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
    teams: FakeTeams, settings: Settings, cloud: Cloud, office: ChatContext
) -> AsyncIterator[Client]:
    """Whoever has a multi-tenant bot can be reached from every company."""
    many = settings.model_copy(update={"microsoft_app_type": "MultiTenant"})
    app = web.Application()
    mount(app, connect(many, cloud=cloud, credentials=CountingCredentials()), office)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield client


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_unsigned_is_taken_whatever_it_is(
    client: Client, teams: FakeTeams, inbox: KeepingInbox, kind: str
) -> None:
    asked = in_person(teams, "vpn?") | KINDS[kind]

    response = await client.post("/api/messages", json=asked)

    assert response.status == 401
    assert not inbox.messages
    assert not teams.sent


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_of_another_company_is_taken_whatever_it_is(
    served_to_many: Client, teams: FakeTeams, inbox: KeepingInbox, kind: str
) -> None:
    theirs = in_channel(teams, "<at>Help</at> vpn?") | KINDS[kind]
    theirs |= {"channelData": {"tenant": {"id": "another-company"}}}

    assert (await send(served_to_many, teams, theirs)).status == 403
    assert not inbox.messages
    assert not teams.sent


async def test_a_bot_of_many_companies_serves_ours(
    served_to_many: Client, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    assert (await send(served_to_many, teams, in_person(teams, "vpn?"))).status == 200
    assert inbox.only.text == "vpn?"


@pytest.mark.parametrize("endorsed", [(), ("webchat",), ("directline", "MSTeams")])
async def test_a_key_that_is_not_for_teams_signs_nothing_of_teams(
    client: Client, teams: FakeTeams, inbox: KeepingInbox, endorsed: tuple[str, ...]
) -> None:
    teams.endorsed = endorsed

    assert (await send(client, teams, in_person(teams, "vpn?"))).status == 401
    assert not inbox.messages


@pytest.mark.parametrize("audience", [[], [APP_ID], [APP_ID, "x"], ["x"], {"id": APP_ID}, 5, ""])
async def test_a_token_is_for_one_bot(
    client: Client, teams: FakeTeams, inbox: KeepingInbox, audience: object
) -> None:
    asked, token = in_person(teams, "vpn?"), teams.token(aud=audience)

    assert (await send(client, teams, asked, token=token)).status == 401
    assert not inbox.messages


@pytest.mark.parametrize("order", [("good", "bad"), ("bad", "good"), ("good", "good")])
async def test_of_two_tokens_none_is_believed(
    client: Client, teams: FakeTeams, inbox: KeepingInbox, order: Sequence[str]
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
    client: Client, teams: FakeTeams, inbox: KeepingInbox, length: int, dots: int
) -> None:
    token = ".".join(["e" * (length // (dots + 1))] * (dots + 1))

    response = await send(client, teams, in_person(teams, "vpn?"), token=token)

    assert response.status in {400, 401, 431}
    assert not inbox.messages


async def test_keys_are_changed_while_people_ask(
    client: Client, teams: FakeTeams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "_UNKNOWN_KEY_PAUSE_SECONDS", 0.0)
    old, asked = teams.token(), in_person(teams, "vpn?")
    assert (await send(client, teams, asked, token=old)).status == 200

    teams.new_key("k2")
    both = [old, teams.token(key_id="k2"), old]
    assert [(await send(client, teams, asked, token=each)).status for each in both] == [200] * 3

    del teams.keys["k1"]
    teams.new_key("k3")
    later = [teams.token(key_id="k3"), old, teams.token(key_id="k2")]
    told = [(await send(client, teams, asked, token=each)).status for each in later]
    assert told == [200, 401, 200]


async def test_a_new_key_while_none_can_be_fetched_is_to_be_tried_again(
    client: Client, teams: FakeTeams, inbox: KeepingInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is refused with 401 is lost; who has a key that we know is served meanwhile."""
    monkeypatch.setattr(auth, "_UNKNOWN_KEY_PAUSE_SECONDS", 0.0)
    assert (await send(client, teams, in_person(teams, "one"))).status == 200
    teams.new_key("k2")
    teams.keys_down = True

    async def asked(text: str, key: str) -> int:
        activity = in_person(teams, text, id=text)
        return (await send(client, teams, activity, token=teams.token(key_id=key))).status

    assert [await asked("two", "k2"), await asked("three", "k1")] == [503, 200]
    monkeypatch.setattr(auth, "_UNKNOWN_KEY_PAUSE_SECONDS", 300.0)
    assert await asked("two", "k2") == 503

    teams.keys_down = False
    monkeypatch.setattr(auth, "_FAILED_PAUSE_SECONDS", 0.0)
    assert await asked("two", "k2") == 200
    assert [each.text for each in inbox.messages.values()] == ["one", "three", "two"]

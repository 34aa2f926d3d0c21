"""Socket Mode, with the client that the bot uses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.answers import Json
from tests.bot.adapters.slack.workspace.asking import posted
from tests.bot.adapters.slack.workspace.names import APP_TOKEN, HELP
from tests.bot.adapters.slack.workspace.samples import ROW


@dataclass
class Listening:
    """What came over the socket; ``silent`` envelopes are not acknowledged."""

    silent: int = 0
    payload: Json | None = None
    came: list[SocketModeRequest] = field(default_factory=list)

    async def take(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self.came.append(request)
        if len(self.came) > self.silent:
            answer = SocketModeResponse(request.envelope_id, self.payload)
            await client.send_socket_mode_response(answer)


@pytest.fixture
def listening() -> Listening:
    return Listening()


@pytest.fixture
async def linked(slack: FakeSlack, listening: Listening) -> AsyncIterator[SocketModeClient]:
    web = AsyncWebClient(base_url=slack.url)
    client = SocketModeClient(app_token=APP_TOKEN, web_client=web, ping_interval=0.2)
    client.socket_mode_request_listeners.append(listening.take)
    await client.connect()  # type: ignore[no-untyped-call]
    await slack.sockets.linked()
    yield client
    await client.close()  # type: ignore[no-untyped-call]


@pytest.fixture
def ann(slack: FakeSlack, linked: SocketModeClient) -> Visitor:
    return Visitor(slack, slack.sockets)


async def test_events_commands_and_clicks_come_over_the_socket(
    slack: FakeSlack, api: AsyncWebClient, ann: Visitor, listening: Listening
) -> None:
    await ann.say(HELP, "vpn?", mention=True)
    listening.payload = {"text": "Queued"}
    answer = await ann.command(HELP, "/frontdesk", "help")
    await ann.click(await posted(api, slack, ROW), "ask")
    kinds = [request.type for request in listening.came]
    assert kinds == ["events_api", "events_api", "slash_commands", "interactive"]
    assert (answer.status, answer.body) == (200, {"text": "Queued"})
    assert slack.seen_by(ann.id, HELP)[1].shown == "Queued"
    assert len(slack.sockets.acks) == 4


async def test_what_is_not_acknowledged_comes_again(
    slack: FakeSlack, ann: Visitor, listening: Listening
) -> None:
    slack.sockets.ack_seconds, listening.silent = 0.1, 1
    await ann.say(ann.direct, "vpn?")
    assert [(one.retry_attempt, one.retry_reason) for one in listening.came] == [
        (0, ""),
        (1, "timeout"),
    ]
    assert ann.answers[-1].status == 200


async def test_nobody_who_answers_is_told_after_the_last_try(
    slack: FakeSlack, ann: Visitor, listening: Listening
) -> None:
    slack.sockets.ack_seconds, listening.silent = 0.02, 99
    await ann.say(ann.direct, "vpn?")
    assert (len(listening.came), ann.answers[-1].status) == (4, 0)


@pytest.mark.parametrize("abruptly", [False, True])
async def test_a_client_comes_back_after_a_link_ended(
    slack: FakeSlack, ann: Visitor, listening: Listening, *, abruptly: bool
) -> None:
    if abruptly:
        slack.sockets.drop()
    else:
        await slack.sockets.disconnect()
    await slack.sockets.linked(opened=2)
    await ann.say(ann.direct, "still there?")
    assert len(listening.came) >= 1
    assert ann.answers[-1].status == 200


async def test_a_link_needs_a_ticket_that_is_good_once(slack: FakeSlack) -> None:
    ticket = slack.tickets.socket()
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(f"{slack.site}/link?ticket={ticket}") as link:
            assert (await link.receive_json())["type"] == "hello"
        for address in (f"{slack.site}/link", f"{slack.site}/link?ticket={ticket}"):
            async with session.get(address) as answer:
                assert answer.status == 403

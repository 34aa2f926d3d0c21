"""Test Socket Mode: connecting, reconnecting, acknowledging and closing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.chat.adapters import ChatContext
from bot.domain.errors import InboxUnavailable
from bot.domain.settings import Settings
from bot.platforms.slack import mount
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.socket_mode import SocketTimeouts
from tests.fakes.desk import KeepingInbox
from tests.fakes.http_server import wait_until
from tests.fakes.slack.builders import HASTY, Clock, on_socket
from tests.fakes.slack.events import Client, deliver, direct, envelope, mention
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor


def served(channel: SlackChannel, context: ChatContext, patience: SocketTimeouts = HASTY) -> Client:
    app = web.Application()
    mount(app, channel, context, timeouts=patience)
    return TestClient(TestServer(app, host="127.0.0.1"))


@pytest.fixture
def socketed(settings: Settings) -> SlackChannel:
    return connect(on_socket(settings), caller=Clock().caller())


@pytest.fixture
async def bot(
    socketed: SlackChannel, context: ChatContext, slack: FakeSlack
) -> AsyncIterator[Client]:
    async with served(socketed, context) as client:
        await slack.sockets.linked()
        yield client


@pytest.fixture
def ann(slack: FakeSlack, bot: Client) -> Visitor:
    return Visitor(slack, slack.sockets)


async def test_no_address_is_served_and_the_part_says_how_events_come_in(
    bot: Client, socketed: SlackChannel
) -> None:
    await wait_until(lambda: socketed.part().state == "ready")

    assert (await bot.post("/slack/events", data=b"{}")).status == 404
    assert "Socket Mode" in socketed.part().detail


@pytest.mark.parametrize("abruptly", [False, True])
async def test_it_comes_back_after_its_link_ended(
    slack: FakeSlack, ann: Visitor, inbox: KeepingInbox, *, abruptly: bool
) -> None:
    for opened in (2, 3):
        if abruptly:
            slack.sockets.drop()
        else:
            await slack.sockets.disconnect()
        await slack.sockets.linked(opened=opened)
    slack.sockets.ack_seconds = 0.3
    await ann.say(ann.direct, "still there?")

    assert inbox.only.text == "still there?"
    assert ann.answers[-1].status == 200


async def test_what_is_not_kept_is_not_acknowledged_and_comes_again(
    slack: FakeSlack, ann: Visitor, inbox: KeepingInbox
) -> None:
    slack.sockets.ack_seconds = 0.1
    inbox.error = InboxUnavailable("down")
    asking = asyncio.create_task(ann.say(ann.direct, "vpn?"))
    await wait_until(lambda: len(slack.sockets.sent) == 2)
    assert slack.sockets.acks == []
    inbox.error, slack.sockets.ack_seconds = None, 60.0
    await asking

    assert ann.answers[-1].status == 200
    assert len(inbox.messages) == 1


async def test_what_is_not_ours_is_acknowledged_and_left(
    slack: FakeSlack, ann: Visitor, inbox: KeepingInbox
) -> None:
    stranger = envelope(mention("vpn?"), team_id="T0OTHER00", authorizations=[])
    odd = {"type": "event_callback", "event": []}
    answers = await deliver(ann.door, [stranger, odd])

    assert [answer.status for answer in answers] == [200, 200]
    assert not inbox.messages


async def test_a_connection_that_breaks_and_is_there_again_is_no_trouble(
    slack: FakeSlack, bot: Client, socketed: SlackChannel
) -> None:
    slack.sockets.drop()
    while slack.sockets.opened < 2:
        assert socketed.part().state == "ready"
        await asyncio.sleep(0.01)


async def test_the_start_waits_for_the_connection_but_not_for_ever(
    slack: FakeSlack, settings: Settings, context: ChatContext
) -> None:
    """So that what is printed at the start is true."""
    for late, start, state in ((0.05, 60.0, "ready"), (600.0, 0.1, "failed")):
        slack.fail("apps.connections.open", Fault(seconds=late))
        channel = connect(on_socket(settings), caller=Clock().caller())
        async with served(channel, context, replace(HASTY, start=start)):
            assert channel.part().state == state


async def test_a_broken_connection_that_does_not_come_back_is_told(
    slack: FakeSlack, bot: Client, socketed: SlackChannel
) -> None:
    slack.fail("apps.connections.open", *[Fault(error="invalid_auth")] * 3)
    slack.sockets.drop()
    await wait_until(lambda: "SLACK_APP_TOKEN (invalid_auth)" in socketed.part().detail)
    assert socketed.part().state == "failed"
    assert "connections:write" in socketed.part().cure
    await wait_until(lambda: socketed.part().state == "ready")


async def test_slack_that_takes_the_connection_and_says_nothing_is_left(
    slack: FakeSlack, settings: Settings, context: ChatContext
) -> None:
    silent = asyncio.Event()

    async def link(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        silent.set()
        await socket.receive()
        return socket

    app = web.Application()
    app.router.add_get("/link", link)
    app.router.add_post("/api/apps.connections.open", _opened)
    async with TestServer(app, host="127.0.0.1") as server:
        changes = {"slack_api_url": str(server.make_url("/api/"))}
        channel = connect(on_socket(settings).model_copy(update=changes))
        patience = replace(HASTY, connect=0.1)
        async with served(channel, context, patience):
            await silent.wait()
            await wait_until(lambda: "did not say hello" in channel.part().detail)


async def _opened(request: web.Request) -> web.Response:
    return web.json_response({"ok": True, "url": f"ws://{request.host}/link"})


async def test_what_is_under_way_is_acknowledged_before_the_end(
    slack: FakeSlack, socketed: SlackChannel, context: ChatContext, inbox: KeepingInbox
) -> None:
    inbox.delay = 0.3
    async with served(socketed, context):
        await slack.sockets.linked()
        asking = asyncio.create_task(slack.sockets.event(envelope(direct("vpn?")), attempt=3))
        await wait_until(lambda: slack.sockets.sent)
        await asyncio.sleep(0.1)

    assert (await asking).status == 200
    assert inbox.only.text == "vpn?"


async def test_it_is_opened_after_everything_else_has_started(
    slack: FakeSlack, socketed: SlackChannel, context: ChatContext
) -> None:
    app = web.Application()
    mount(app, socketed, context, timeouts=HASTY)
    opened_by_then: list[int] = []

    async def inbox_opens(_: web.Application) -> AsyncIterator[None]:
        await asyncio.sleep(0.1)
        opened_by_then.append(slack.sockets.opened)
        yield

    app.cleanup_ctx.append(inbox_opens)
    async with TestClient(TestServer(app, host="127.0.0.1")):
        await slack.sockets.linked()

    assert opened_by_then == [0]

"""The app is removed, or its token revoked: nothing is called any more, and it is said."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.chat.adapters import ChatContext
from bot.domain.capabilities import TellsState
from bot.domain.errors import DeliveryFailed
from bot.domain.health import ComponentStatus
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.transport.http import mount
from bot.platforms.slack.workspace.bot_identity import BotIdentity, SlackHealth
from tests.bot.adapters.slack.clock import Clock
from tests.bot.adapters.slack.events import Client, envelope, send
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.names import BOT_USER
from tests.bot.house import until


@pytest.fixture
async def known(client: Client, channel: SlackChannel) -> SlackChannel:
    """Return the channel once it knows who it is."""
    await until(lambda: channel.own.user_id)
    return channel


async def test_a_working_channel_says_how_events_come_in(known: SlackChannel) -> None:
    assert isinstance(known, TellsState)
    assert known.part().state == "ready"
    assert "/slack/events" in known.part().detail


@pytest.mark.parametrize(
    "event",
    [
        {"type": "app_uninstalled"},
        {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [BOT_USER]}},
    ],
    ids=lambda event: str(event["type"]),
)
async def test_a_lost_token_is_told_and_not_used(
    slack: FakeSlack, client: Client, known: SlackChannel, event: dict[str, object]
) -> None:
    slack.uninstall("token_revoked")
    assert (await send(client, envelope(event))).status == 200
    await until(lambda: slack.calls.count("auth.test") == 2)

    assert known.part().state == "failed"
    assert "SLACK_BOT_TOKEN" in known.part().cure
    before = len(slack.calls)
    with pytest.raises(DeliveryFailed, match="SLACK_BOT_TOKEN"):
        await known.caller.call("chat.postMessage", known.client.api_test)
    assert len(slack.calls) == before


async def test_an_old_event_of_a_loss_is_forgotten_when_the_token_works(
    client: Client, known: SlackChannel
) -> None:
    await send(client, envelope({"type": "app_uninstalled"}))
    await until(lambda: known.part().state == "ready")

    assert known.caller.barred == ""


@pytest.mark.parametrize(
    "tokens", [{"oauth": ["U0ALICE00"]}, {"bot": ["U0OTHERBT"]}, {"bot": "x"}, None]
)
async def test_a_person_s_revoked_token_is_no_loss(
    client: Client, known: SlackChannel, tokens: object
) -> None:
    await send(client, envelope({"type": "tokens_revoked", "tokens": tokens}))

    assert known.part().state == "ready"


async def test_a_token_that_slack_refuses_at_the_start_is_told_and_tried_again(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.uninstall("account_inactive")
    clock, standing = Clock(), SlackHealth(ComponentStatus("Slack", "ready", "events over HTTP"))

    async def pause(seconds: float) -> None:
        clock.waits.append(seconds)
        assert standing.part().state == "failed"
        assert "account_inactive" in standing.part().detail
        if len(clock.waits) == 8:
            slack.lost = ""

    own = BotIdentity(channel.client, channel.caller, standing, pause=pause)
    await own.learn()

    assert clock.waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert (own.user_id, standing.part().state) == (BOT_USER, "ready")


async def test_an_organisation_s_installation_is_known_as_such(
    slack: FakeSlack, channel: SlackChannel, office: ChatContext
) -> None:
    app = web.Application()
    mount(app, channel, office)
    async with TestClient(TestServer(app, host="127.0.0.1")):
        await until(lambda: channel.own.user_id)

    assert channel.own.workspace == "T0TEAM000"

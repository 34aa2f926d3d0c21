"""Fixtures of a fake Slack workspace and the bot in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.adapters import ChatContext
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.slack import mount
from bot.platforms.slack.channel import SlackChannel, connect
from bot.store.database import Store
from tests.fakes.chat_context import chat_context_over
from tests.fakes.desk import KeepingInbox
from tests.fakes.slack.builders import HASTY, Bot, CaseScenario, Clock, bot_at, on_socket
from tests.fakes.slack.events import SECRET, Client
from tests.fakes.slack.names import TEAM, TOKEN
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor


@pytest.fixture(scope="session")
def acme() -> Settings:
    return load_settings(
        _env_file=None,
        slack_bot_token=TOKEN,
        slack_signing_secret=SECRET,
        slack_team_id=TEAM,
        slack_escalation_channel="C0PEOPLE0",
        tenant="acme",
    )


@pytest.fixture
def settings(acme: Settings, slack: FakeSlack) -> Settings:
    return acme.model_copy(update={"slack_api_url": slack.url})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def waits(clock: Clock) -> list[float]:
    return clock.waits


@pytest.fixture
def channel(settings: Settings, clock: Clock) -> SlackChannel:
    return connect(settings, caller=clock.caller())


@pytest.fixture
def inbox() -> KeepingInbox:
    return KeepingInbox()


@pytest.fixture
def context(store: Store, inbox: KeepingInbox) -> ChatContext:
    return chat_context_over(store, inbox, tenant="acme")


@pytest.fixture
async def client(channel: SlackChannel, context: ChatContext) -> AsyncIterator[Client]:
    app = web.Application()
    mount(app, channel, context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield client


@pytest.fixture
async def bot(slack: FakeSlack, channel: SlackChannel, store: Store) -> AsyncIterator[Bot]:
    """Yield a whole bot, which answers what it is told to."""
    async with bot_at(slack, channel, store) as bot:
        yield bot


@pytest.fixture
def alice(slack: FakeSlack, client: Client) -> Visitor:
    """Return Alice, at the bot's one address."""
    return Visitor(slack, client)


@pytest.fixture
def api(slack: FakeSlack) -> AsyncWebClient:
    """Return the workspace's API, as the bot calls it."""
    return AsyncWebClient(token=TOKEN, base_url=slack.url)


@pytest.fixture(params=["http", "socket"])
async def ann(
    request: pytest.FixtureRequest, slack: FakeSlack, settings: Settings, context: ChatContext
) -> AsyncIterator[Visitor]:
    """Yield Alice at a bot that is reached by HTTP, and at one that is reached by its socket."""
    over_socket = request.param == "socket"
    wanted = on_socket(settings) if over_socket else settings
    app = web.Application()
    mount(app, connect(wanted, caller=Clock().caller()), context, timeouts=HASTY)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield Visitor(slack, slack.sockets if over_socket else client)


@pytest.fixture
async def scene(
    slack: FakeSlack, store: Store, settings: Settings, context: ChatContext, clock: Clock
) -> AsyncIterator[CaseScenario]:
    """Yield a bot whose people are asked, and see its board at desk.example.com."""
    wanted = settings.model_copy(update={"public_url": "https://desk.example.com"})
    channel = connect(wanted, store.notes, caller=clock.caller())
    app = web.Application()
    mount(app, channel, context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield CaseScenario(slack, store, channel, context, client)

"""A local workspace, and the bot in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.adapters import ChatContext
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.transport.http import mount
from bot.store.database import Store
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.slack.answering import Bot, bot_at
from tests.bot.adapters.slack.clock import Clock
from tests.bot.adapters.slack.events import SECRET, Client
from tests.bot.adapters.slack.scenes import Scene
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.transports import HASTY, on_socket
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.names import TEAM, TOKEN
from tests.bot.offices import office_over


@pytest.fixture
def settings(slack: FakeSlack) -> Settings:
    return load_settings(
        _env_file=None,
        slack_bot_token=TOKEN,
        slack_signing_secret=SECRET,
        slack_api_url=slack.url,
        slack_team_id=TEAM,
        slack_escalation_channel="C0PEOPLE0",
        tenant="acme",
    )


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
def office(store: Store, inbox: KeepingInbox) -> ChatContext:
    return office_over(store, inbox, tenant="acme")


@pytest.fixture
async def client(channel: SlackChannel, office: ChatContext) -> AsyncIterator[Client]:
    app = web.Application()
    mount(app, channel, office)
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
    request: pytest.FixtureRequest, slack: FakeSlack, settings: Settings, office: ChatContext
) -> AsyncIterator[Visitor]:
    """Yield Alice at a bot that is reached by HTTP, and at one that is reached by its socket."""
    over_socket = request.param == "socket"
    wanted = on_socket(settings) if over_socket else settings
    app = web.Application()
    mount(app, connect(wanted, caller=Clock().caller()), office, patience=HASTY)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield Visitor(slack, slack.sockets if over_socket else client)


@pytest.fixture
async def scene(
    slack: FakeSlack, store: Store, settings: Settings, office: ChatContext, clock: Clock
) -> AsyncIterator[Scene]:
    """Yield a bot whose people are asked, and see its board at desk.example.com."""
    wanted = settings.model_copy(update={"public_url": "https://desk.example.com"})
    channel = connect(wanted, store.notes, caller=clock.caller())
    app = web.Application()
    mount(app, channel, office)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield Scene(slack, store, channel, office, client)

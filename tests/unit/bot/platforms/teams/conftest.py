"""Fixtures of a fake Teams tenant and the bot in it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from bot.chat.adapters import ChatContext
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams import mount
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.store.database import Store
from tests.fakes.chat_context import chat_context_over
from tests.fakes.desk import KeepingInbox
from tests.fakes.teams.activities import BotTestClient
from tests.fakes.teams.builders import Bot, bot_at
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.file_host import FileHost
from tests.fakes.teams.names import APP_ID, ENTRA, ISSUER
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor

Restart = Callable[[], TeamsChannel]


@pytest.fixture(scope="session")
def signing_key() -> RSAPrivateKey:
    return generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
async def teams(signing_key: RSAPrivateKey) -> AsyncIterator[FakeTeams]:
    async with FakeTeams(keys={"k1": signing_key}).serving() as tenant:
        yield tenant


@pytest.fixture
async def file_host() -> AsyncIterator[FileHost]:
    async with FileHost().serving() as host:
        yield host


@pytest.fixture(scope="session")
def settings() -> Settings:
    return load_settings(
        _env_file=None,
        microsoft_app_id=APP_ID,
        microsoft_app_password="secret",
        microsoft_app_tenant_id=ENTRA,
        tenant="acme",
    )


@pytest.fixture
def cloud(teams: FakeTeams) -> Cloud:
    return Cloud(issuer=ISSUER, metadata_url=f"{teams.url}/meta", login_url=f"{teams.url}/login")


@pytest.fixture
def credentials() -> CountingCredentials:
    return CountingCredentials()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def channel(
    settings: Settings, cloud: Cloud, credentials: CountingCredentials, waits: list[float]
) -> TeamsChannel:
    async def pause(seconds: float) -> None:
        waits.append(seconds)

    def clock() -> float:
        return time.monotonic() + sum(waits)

    return connect(settings, cloud=cloud, credentials=credentials, pause=pause, clock=clock)


@pytest.fixture
def inbox() -> KeepingInbox:
    return KeepingInbox()


@pytest.fixture
def context(store: Store, inbox: KeepingInbox) -> ChatContext:
    return chat_context_over(store, inbox, tenant="acme")


@pytest.fixture
async def client(channel: TeamsChannel, context: ChatContext) -> AsyncIterator[BotTestClient]:
    app = web.Application()
    mount(app, channel, context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield client


@pytest.fixture
def restart(settings: Settings, cloud: Cloud) -> Restart:
    """Return a channel in a process that has seen nothing."""
    return lambda: connect(settings, cloud=cloud, credentials=CountingCredentials())


@pytest.fixture
def noted_restart(settings: Settings, cloud: Cloud, store: Store) -> Restart:
    """Return a channel in a process that has seen nothing, but reads what others noted."""
    return lambda: connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())


@pytest.fixture
async def bot(
    teams: FakeTeams, settings: Settings, cloud: Cloud, store: Store
) -> AsyncIterator[Bot]:
    """Yield a bot that answers what it is told to."""
    channel = connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())
    async with bot_at(teams, channel, store) as bot:
        yield bot


@dataclass(frozen=True)
class ConnectorAnswer:
    """What the connector answered; ``body`` is {} where there is none."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


class ConnectorClient:
    """A session at the connector; ``visitor`` is Alice beside it."""

    def __init__(self, teams: FakeTeams, session: aiohttp.ClientSession) -> None:
        self._teams = teams
        self._session = session
        self.visitor = Visitor(teams, session)

    async def post(self, conversation: str, activity: Mapping[str, Any]) -> ConnectorAnswer:
        path = f"conversations/{conversation}/activities"
        return await self.call("POST", path, activity)

    async def put(
        self, conversation: str, name: str, activity: Mapping[str, Any]
    ) -> ConnectorAnswer:
        path = f"conversations/{conversation}/activities/{name}"
        return await self.call("PUT", path, activity)

    async def delete(self, conversation: str, name: str) -> ConnectorAnswer:
        return await self.call("DELETE", f"conversations/{conversation}/activities/{name}")

    async def get(self, path: str) -> ConnectorAnswer:
        return await self.call("GET", path)

    async def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> ConnectorAnswer:
        url = f"{self._teams.url}/v3/{path}"
        async with self._session.request(method, url, json=body) as answer:
            told = await answer.json() if answer.content_type == "application/json" else {}
            return ConnectorAnswer(answer.status, told, answer.headers)


@pytest.fixture
async def rest(teams: FakeTeams) -> AsyncIterator[ConnectorClient]:
    async with aiohttp.ClientSession() as session:
        yield ConnectorClient(teams, session)

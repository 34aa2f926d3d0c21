"""A local Teams, and the bot in it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from bot.chat.adapters import ChatContext
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.transport.http import mount
from bot.store.database import Store
from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.teams.activities import Client
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.tenant.file_host import FileHost
from tests.bot.adapters.teams.tenant.names import APP_ID, ENTRA, ISSUER
from tests.bot.offices import office_over

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


@pytest.fixture
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
def office(store: Store, inbox: KeepingInbox) -> ChatContext:
    return office_over(store, inbox, tenant="acme")


@pytest.fixture
async def client(channel: TeamsChannel, office: ChatContext) -> AsyncIterator[Client]:
    app = web.Application()
    mount(app, channel, office)
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

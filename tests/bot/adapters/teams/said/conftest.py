"""The bot in a local Teams, with a record that other processes read, and people in front of it."""

from __future__ import annotations

import pytest

from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.store.database import Store
from tests.bot.adapters.teams.activities import Client
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials
from tests.bot.adapters.teams.visitor import Visitor


@pytest.fixture
def settings(settings: Settings, teams: FakeTeams) -> Settings:
    return settings.model_copy(update={"teams_service_url": f"{teams.url}/"})


@pytest.fixture
def channel(
    settings: Settings, cloud: Cloud, credentials: CountingCredentials, store: Store
) -> TeamsChannel:
    return connect(settings, store.notes, cloud=cloud, credentials=credentials)


@pytest.fixture
def alice(teams: FakeTeams, client: Client) -> Visitor:
    return Visitor(teams, client)

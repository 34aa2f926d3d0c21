"""Fixtures of a bot whose record other processes read, and a person in front of it."""

from __future__ import annotations

import pytest

from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.store.database import Store
from tests.fakes.teams.activities import BotTestClient
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor


@pytest.fixture
def settings(settings: Settings, teams: FakeTeams) -> Settings:
    return settings.model_copy(update={"teams_service_url": f"{teams.url}/", "teams_hello": True})


@pytest.fixture
def channel(
    settings: Settings, cloud: Cloud, credentials: CountingCredentials, store: Store
) -> TeamsChannel:
    return connect(settings, store.notes, cloud=cloud, credentials=credentials)


@pytest.fixture
def alice(teams: FakeTeams, client: BotTestClient) -> Visitor:
    return Visitor(teams, client)

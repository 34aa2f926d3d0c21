"""Fixtures of a case in the fake Teams and in the record."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.chat.adapters import ChatContext
from bot.domain.settings import Settings
from bot.platforms.teams import mount
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.store.database import Store
from tests.fakes.teams import names
from tests.fakes.teams.activities import in_channel
from tests.fakes.teams.builders import CaseScenario
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.server import FakeTeams

Process = Callable[[], TeamsChannel]


@pytest.fixture
def process(settings: Settings, cloud: Cloud, store: Store) -> Process:
    """Return a channel of a process of its own, which asks people and notes it in the record."""
    asking = {
        "teams_escalation_channel": names.PEOPLE,
        "teams_second_level_channel": names.GENERAL,
        "public_url": "https://desk.example.com",
    }
    wanted = settings.model_copy(update=asking)
    return lambda: connect(wanted, store.notes, cloud=cloud, credentials=CountingCredentials())


@pytest.fixture
async def scene(
    teams: FakeTeams, store: Store, process: Process, context: ChatContext
) -> AsyncIterator[CaseScenario]:
    """Yield a bot whose people are asked, with its board at desk.example.com."""
    channel, app = process(), web.Application()
    await channel.client.conversations.note(_arrived(teams))
    mount(app, channel, context)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield CaseScenario(teams, store, channel, context, client)


def _arrived(teams: FakeTeams) -> dict[str, object]:
    return in_channel(teams, "<at>Help</at> hello")

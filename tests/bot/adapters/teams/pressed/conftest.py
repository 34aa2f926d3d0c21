"""A whole bot in Teams, below whose answers people press."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.domain.settings import Settings
from bot.platforms.teams.channel import connect
from bot.platforms.teams.client.registration import Cloud
from bot.store.database import Store
from tests.bot.adapters.teams.answering import Bot, bot_at
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.credentials import CountingCredentials


@pytest.fixture
async def bot(
    teams: FakeTeams, settings: Settings, cloud: Cloud, store: Store
) -> AsyncIterator[Bot]:
    """Yield a bot that answers what it is told to."""
    channel = connect(settings, store.notes, cloud=cloud, credentials=CountingCredentials())
    async with bot_at(teams, channel, store) as bot:
        yield bot

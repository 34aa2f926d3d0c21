"""A bot's calls of the Teams that runs here, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.rest import Rest


@pytest.fixture
async def rest(teams: FakeTeams) -> AsyncIterator[Rest]:
    async with aiohttp.ClientSession() as session:
        yield Rest(teams, session)

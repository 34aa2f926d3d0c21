"""A bot that only keeps what it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp.test_utils import TestClient, TestServer

from tests.bot.adapters.slack.events import Client
from tests.bot.adapters.slack.workspace.plain_bot import PlainBot


@pytest.fixture
def bot() -> PlainBot:
    return PlainBot()


@pytest.fixture
async def client(bot: PlainBot) -> AsyncIterator[Client]:
    async with TestClient(TestServer(bot.app(), host="127.0.0.1")) as client:
        yield client

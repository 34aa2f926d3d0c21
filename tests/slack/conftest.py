"""A workspace whose bot is not held back: Slack's pace is proven elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.bot.adapters.slack.server import FakeSlack


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack().serving() as workspace:
        yield workspace


@pytest.fixture
def unpaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.platforms.slack.client.api._RATES", {})

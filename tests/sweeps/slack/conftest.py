"""Fixtures of a workspace whose bot does not keep Slack's pace."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.slack.server import FakeSlack


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack().serving() as workspace:
        yield workspace


@pytest.fixture
def unpaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.platforms.slack.client.rate_limits._RATES", {})

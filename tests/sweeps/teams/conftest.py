"""Fixtures of a tenant whose bot does not keep Teams' pace."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from bot.platforms import teams as adapter
from bot.platforms.teams.client.rate_limits import CallWindow
from tests.fakes.teams.application import LocalCloud
from tests.fakes.teams.server import FakeTeams


@pytest.fixture
async def teams(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeTeams]:
    """A tenant that this process connects to."""
    key = generate_private_key(public_exponent=65537, key_size=2048)
    async with FakeTeams(keys={"k1": key}).serving() as tenant:
        monkeypatch.setattr(adapter, "connect", LocalCloud(tenant.url).connect)
        yield tenant


@pytest.fixture
def unpaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(_: CallWindow, now: float, *, optional: bool = False) -> float:
        del optional
        return now

    monkeypatch.setattr(CallWindow, "next", at_once)

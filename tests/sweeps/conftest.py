"""Fixtures of the sweeps: platforms whose pace is kept in fast time, and an indexed wiki."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from bot.platforms import slack as slack_adapter
from bot.platforms import teams as teams_adapter
from tests.e2e.conftest import made_once, start_for_the_first_time
from tests.fakes.applications import LocalCloud, connect_hurried
from tests.fakes.slack.server import FakeSlack
from tests.fakes.teams.server import FakeTeams
from tests.sweeps.chaos.scenario import prepare


@pytest.fixture
async def slack(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeSlack]:
    """A workspace that this process connects to."""
    monkeypatch.setattr(slack_adapter, "connect", connect_hurried)
    async with FakeSlack().serving() as workspace:
        yield workspace


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory in which a wiki is indexed; to be copied."""
    return made_once(tmp_path_factory, "wiki", prepare) / "prepared"


@pytest.fixture(scope="session")
def indexed_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory as the first start on the sample leaves it; to be copied."""
    return made_once(tmp_path_factory, "sample", start_for_the_first_time)


@pytest.fixture(scope="session")
def signing_key() -> RSAPrivateKey:
    """The key of all tenants of a worker: to make one may take seconds."""
    return generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
async def teams(
    monkeypatch: pytest.MonkeyPatch, signing_key: RSAPrivateKey
) -> AsyncIterator[FakeTeams]:
    """A tenant that this process connects to."""
    async with FakeTeams(keys={"k1": signing_key}).serving() as tenant:
        monkeypatch.setattr(teams_adapter, "connect", LocalCloud(tenant.url, hurried=True).connect)
        yield tenant

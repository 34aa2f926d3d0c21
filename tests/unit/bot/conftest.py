"""Fixtures of all tests of bot: a record in a folder, a PostgreSQL server, a Slack."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from bot.domain.urls import with_driver
from bot.store.database import Store, migrate, sqlite_url, unopened
from tests import postgres as postgresql
from tests.fakes.slack.server import FakeSlack

TEMPLATE = "migrated"


@pytest.fixture(scope="session")
def empty_record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a current schema and no row; copied, for migrating takes long."""
    directory = tmp_path_factory.mktemp("record")
    migrate(sqlite_url(directory))
    return directory / "frontdesk.sqlite"


@pytest.fixture
async def store(tmp_path: Path, empty_record: Path) -> AsyncIterator[Store]:
    shutil.copy(empty_record, tmp_path)
    opened = unopened(sqlite_url(tmp_path))
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgresql.Server]:
    """One server a test process, started by the first test that needs it."""
    if not postgresql.available():
        pytest.skip(postgresql.MISSING)
    with postgresql.running() as server:
        migrate(with_driver(server.create(TEMPLATE)))
        yield server


@pytest.fixture
def postgres_url(postgres: postgresql.Server) -> Iterator[str]:
    """A database of the test's own, its schema current; what goes into DATABASE_URL."""
    name = f"test_{uuid4().hex}"
    yield postgres.create(name, template=TEMPLATE)
    postgres.drop(name)


@pytest.fixture
def empty_postgres_url(postgres: postgresql.Server) -> Iterator[str]:
    """A database of the test's own without any table."""
    name = f"test_{uuid4().hex}"
    yield postgres.create(name)
    postgres.drop(name)


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack().serving() as workspace:
        yield workspace

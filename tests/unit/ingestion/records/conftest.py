"""The records' databases, SQLite and PostgreSQL, which every test of the records runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast
from uuid import uuid4

import pytest

from ingestion.records.database import FILE, Database
from ingestion.records.ledger import Ledger
from tests import postgres as postgresql

Opens = Callable[[], Database]
"""Opens the same database as another process would."""


@pytest.fixture(scope="session")
def server() -> Iterator[postgresql.Server]:
    """One server a test process, started by the first test that needs it."""
    if not postgresql.available():
        pytest.skip(postgresql.MISSING)
    with postgresql.running() as running:
        yield running


@pytest.fixture
def postgres_address(server: postgresql.Server) -> Iterator[str]:
    """A database without any table; what goes into DATABASE_URL."""
    name = f"records_{uuid4().hex}"
    yield server.create(name)
    server.drop(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite+pysqlite:///{tmp_path / FILE}"
    return cast("str", request.getfixturevalue("postgres_address"))


@pytest.fixture
def opens(address: str) -> Iterator[Opens]:
    opened: list[Database] = []

    def open_once_more() -> Database:
        opened.append(Database(address))
        return opened[-1]

    yield open_once_more
    for each in opened:
        each.close()


@pytest.fixture
def ledger(opens: Opens) -> Ledger:
    return Ledger(opens(), "acme")

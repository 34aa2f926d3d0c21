"""Fixtures of the tests of the record: each runs on both databases.

On PostgreSQL ``make test`` runs three files, whose statements lock, insert or update at once, and
migrate; ``make sweeps`` runs all.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from bot.domain.urls import with_driver
from bot.store.database import Store, sqlite_url, unopened

_ON_BOTH_IN_TESTS = frozenset({"test_database", "test_interactions", "test_leases"})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on both databases; on PostgreSQL in the sweeps, unless its file is chosen.

    A file with a fixture ``database`` of its own names one.
    """
    if "database" in metafunc.fixturenames and not hasattr(metafunc.module, "database"):
        chosen = metafunc.module.__name__.rpartition(".")[2] in _ON_BOTH_IN_TESTS
        marks = () if chosen else (pytest.mark.sweep,)
        metafunc.parametrize("database", ["sqlite", pytest.param("postgresql", marks=marks)])


@pytest.fixture
def empty_url(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without any table."""
    if database == "sqlite":
        return sqlite_url(tmp_path)
    return with_driver(cast("str", request.getfixturevalue("empty_postgres_url")))


@pytest.fixture
def url(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty record."""
    if database == "sqlite":
        shutil.copy(request.getfixturevalue("empty_record"), tmp_path)
        return sqlite_url(tmp_path)
    return with_driver(cast("str", request.getfixturevalue("postgres_url")))


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    opened = unopened(url)
    yield opened
    await opened.close()

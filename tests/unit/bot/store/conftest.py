"""Fixtures of the tests of the record: each runs on both databases."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from bot.domain.urls import with_driver
from bot.store.database import Store, sqlite_url, unopened


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """The name of the database that a test runs on."""
    return cast("str", request.param)


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

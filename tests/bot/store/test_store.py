from __future__ import annotations

import asyncio
import sqlite3
import traceback
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from bot.errors import StoreUnavailable
from bot.store import Store, open_store, sqlite_url
from bot.store.store import migrate
from bot.store.tables import Table
from tests.builders import message


async def test_what_is_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    first = await open_store(sqlite_url(tmp_path))
    opened = await first.interactions.open(message("hi"))
    await first.close()

    second = await open_store(sqlite_url(tmp_path))

    assert await second.interactions.get(opened.id) == opened
    await second.close()


async def test_the_directory_is_made(tmp_path: Path) -> None:
    store = await open_store(sqlite_url(tmp_path / "not" / "yet"))
    await store.close()

    assert (tmp_path / "not" / "yet" / "frontdesk.sqlite").is_file()


def test_the_migrations_make_exactly_the_tables_of_the_models(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path)
    migrate(url)
    engine = create_engine(url.replace("+aiosqlite", ""))

    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, Table.metadata)
    engine.dispose()

    assert differences == []


def test_migrating_twice_is_once(tmp_path: Path) -> None:
    migrate(sqlite_url(tmp_path))
    migrate(sqlite_url(tmp_path))


async def test_starting_twice_at_the_same_time_migrates_once(tmp_path: Path) -> None:
    stores = await asyncio.gather(*(open_store(sqlite_url(tmp_path)) for _ in range(2)))
    for store in stores:
        await store.interactions.open(message("hi"))
        await store.close()


def test_the_file_is_in_wal_mode(tmp_path: Path) -> None:
    migrate(sqlite_url(tmp_path))
    file = sqlite3.connect(tmp_path / "frontdesk.sqlite")

    assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    file.close()


async def test_a_file_that_is_no_database_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "frontdesk.sqlite").write_bytes(b"not a database, but long enough" * 100)

    with pytest.raises(StoreUnavailable, match="can't be opened"):
        await open_store(sqlite_url(tmp_path))


async def test_a_record_that_breaks_later_says_so_in_our_words(
    store: Store, tmp_path: Path
) -> None:
    broken = sqlite3.connect(tmp_path / "frontdesk.sqlite")
    broken.execute("DROP TABLE feedback")
    broken.close()

    with pytest.raises(StoreUnavailable, match="permissions of the data directory"):
        await store.interactions.feedback(message("hi").interaction_id)


async def test_what_is_wrong_with_a_record_is_one_line_with_a_cure_that_mends_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "frontdesk.sqlite").write_bytes(b"not a database, but long enough" * 100)

    with pytest.raises(StoreUnavailable, match="Move the file away") as raised:
        await open_store(sqlite_url(tmp_path))

    assert "\n" not in str(raised.value)


async def test_no_error_carries_what_people_wrote(store: Store, tmp_path: Path) -> None:
    broken = sqlite3.connect(tmp_path / "frontdesk.sqlite")
    broken.execute("DROP TABLE turns")
    broken.execute("ALTER TABLE interactions RENAME TO gone")
    broken.close()

    with pytest.raises(StoreUnavailable) as raised:
        await store.interactions.open(message("my salary".upper()))

    assert "MY SALARY" not in "".join(traceback.format_exception(raised.value))

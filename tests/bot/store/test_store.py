"""Opening the record: schema, restarts, and what is said when it can't be opened."""

from __future__ import annotations

import asyncio
import sqlite3
import traceback
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from pydantic import SecretStr
from sqlalchemy import create_engine

from bot.domain.errors import StoreUnavailable
from bot.domain.settings import Settings
from bot.store.database import MIGRATIONS, Store, database_url, migrate, open_store, sqlite_url
from bot.store.tables import Table
from tests.bot.store.filled import rows
from tests.builders import message


def migrate_to(url: str, revision: str) -> None:
    """Bring an empty database to an older schema."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = create_engine(url.replace("+aiosqlite", ""))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


async def test_what_is_kept_is_there_after_a_restart(url: str) -> None:
    first = await open_store(url)
    opened = await first.work.open(message("hi"), "me")
    await first.close()

    second = await open_store(url)

    assert await second.interactions.get(opened.id) == opened
    await second.close()


async def test_the_directory_is_made(tmp_path: Path) -> None:
    store = await open_store(sqlite_url(tmp_path / "not" / "yet"))
    await store.close()

    assert (tmp_path / "not" / "yet" / "frontdesk.sqlite").is_file()


def test_a_configured_server_goes_before_the_file(tmp_path: Path) -> None:
    server = Settings(data_dir=tmp_path, database_url=SecretStr("postgres://u:p@db/frontdesk"))

    assert database_url(server) == "postgresql+psycopg://u:p@db/frontdesk"
    assert database_url(Settings(data_dir=tmp_path)) == sqlite_url(tmp_path)


def test_the_migrations_make_exactly_the_tables_of_the_models(empty_url: str) -> None:
    migrate(empty_url)
    engine = create_engine(empty_url.replace("+aiosqlite", ""))

    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, Table.metadata)
    engine.dispose()

    assert differences == []


def test_migrating_twice_is_once(empty_url: str) -> None:
    migrate(empty_url)
    migrate(empty_url)


async def test_starting_several_times_at_once_migrates_once(empty_url: str) -> None:
    stores = await asyncio.gather(*(open_store(empty_url) for _ in range(4)))
    for store in stores:
        await store.work.open(message("hi"), "me")
        await store.close()

    assert rows(empty_url, "SELECT count(*) FROM interactions") == [(1,)]


async def test_what_the_first_schema_holds_is_there_after_the_migration(empty_url: str) -> None:
    migrate_to(empty_url, "0001")
    old = message("asked long ago")
    text = '{"format": 1, "value": {"id": "m1", "thread": {"platform": "web", "tenant": "default", '
    text += '"channel": "anna", "id": "t1"}, "author": {"id": "anna", "principals": ["everyone"]}, '
    text += '"text": "asked long ago", "received_at": "2026-11-22T12:00:00Z", "private": true}}'
    rows(
        empty_url,
        "INSERT INTO interactions (id, tenant, thread, person, status, message, created_at) VALUES "  # noqa: S608 - a test's own values
        f"('{old.interaction_id}', 'default', '{old.thread.key}', 'anna', 'working', '{text}', "
        "'2026-11-22 12:00:00')",
    )

    store = await open_store(empty_url)

    kept = await store.interactions.get(old.interaction_id)
    assert kept is not None
    assert kept.message == old
    assert (kept.revision, kept.attempts, kept.posting) == (0, 0, False)
    assert kept.claim is None
    assert await store.work.claim(old.interaction_id, "me") is not None
    await store.close()


def test_the_record_of_a_newer_version_is_refused_with_the_cure(url: str) -> None:
    migrate(url)
    rows(url, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(StoreUnavailable, match="Start the version of Frontdesk that wrote it"):
        migrate(url)


def test_the_file_is_in_wal_mode(tmp_path: Path) -> None:
    migrate(sqlite_url(tmp_path))
    file = sqlite3.connect(tmp_path / "frontdesk.sqlite")

    assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    file.close()


async def test_a_file_that_is_no_database_is_refused_in_one_line_with_the_cure(
    tmp_path: Path,
) -> None:
    (tmp_path / "frontdesk.sqlite").write_bytes(b"not a database, but long enough" * 100)

    with pytest.raises(StoreUnavailable, match=r"can't be opened.*Move the file away") as raised:
        await open_store(sqlite_url(tmp_path))

    assert "\n" not in str(raised.value)


async def test_a_record_that_breaks_later_says_so_in_our_words(store: Store, url: str) -> None:
    rows(url, "DROP TABLE feedback")

    with pytest.raises(StoreUnavailable, match="can't be read or written"):
        await store.interactions.feedback(message("hi").interaction_id)


async def test_no_error_carries_what_people_wrote(store: Store, url: str) -> None:
    for statement in ("DROP TABLE turns", "ALTER TABLE interactions RENAME TO gone"):
        rows(url, statement)

    with pytest.raises(StoreUnavailable) as raised:
        await store.work.open(message("my salary".upper()), "me")

    assert "MY SALARY" not in "".join(traceback.format_exception(raised.value))

"""Tests of opening the record: schema, migrations, lock, restarts, and errors."""

from __future__ import annotations

import asyncio
import sqlite3
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from pydantic import SecretStr
from sqlalchemy import create_engine

from bot.domain.errors import DataDirInUse, StoreUnavailable
from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Response, Trace
from bot.domain.messages import Intent
from bot.domain.settings import Settings
from bot.store.database import (
    MIGRATIONS,
    Store,
    database_url,
    lock_data_dir,
    migrate,
    open_store,
    sqlite_url,
)
from bot.store.migrations import HEAD
from bot.store.migrations.versions import r0004_searching
from bot.store.rows import Rows
from bot.store.tables import Table
from tests.fakes.builders import NOON, message, route
from tests.fakes.desk import ANSWER, HANDED_OVER, VPN
from tests.fakes.record_rows import rows


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
    # Not `open_store`, whose migration the suite replaces by a copy of an empty record.
    await asyncio.gather(*(asyncio.to_thread(migrate, empty_url) for _ in range(4)))
    for _ in range(4):
        async with await open_store(empty_url) as store:
            await store.work.open(message("hi"), "me")

    assert rows(empty_url, "SELECT count(*) FROM interactions") == [(1,)]


async def test_gaps_and_labels_of_0007_are_there_after_the_migration(empty_url: str) -> None:
    migrate_to(empty_url, "0007")
    rows(
        empty_url,
        "INSERT INTO gaps (id, tenant, state, state_at) VALUES "
        "('g1', 'default', 'taken', '2026-11-24 08:00:00')",
    )

    store = await open_store(empty_url)
    await store.close()

    assert rows(empty_url, "SELECT id, state FROM gaps") == [("g1", "taken")]
    assert rows(empty_url, "SELECT count(drafted) FROM shadow_drafts") == [(0,)]


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


async def test_a_file_that_is_no_database_is_refused_in_a_line_with_cure(
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


RESPONSES: list[Response] = [
    ANSWER,
    Reply("Hello.", "generic"),
    Reply("No.", "answer", refused=True),
    Reply("Nothing behind it.", "found"),
    Clarification("Which?", suggestions=(VPN,), confidence=0.4),
    HANDED_OVER,
    Escalation("Of course.", "asked_for_human", "a person"),
]


def outcome(response: Response) -> Outcome:
    return Outcome(response, Trace(route=route(Intent.UNKNOWN, "vpn")))


def insert(number: int, text: str) -> str:
    at = NOON + timedelta(seconds=number)
    return (
        "INSERT INTO interactions (id, tenant, thread, person, status, message, created_at, "  # noqa: S608 - a test's own values
        f"outcome) VALUES ('i{number}', 'default', 't', 'anna', 'done', '{{}}', '{at:%F %T}', "
        f"'{text}')"
    )


def test_old_outcomes_get_the_columns_that_new_ones_have(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(r0004_searching, "_CHUNK", 3)
    migrate_to(empty_url, "0003")
    new = [Rows().outcome(outcome(response)) for response in RESPONSES]
    for number, columns in enumerate(new):
        rows(empty_url, insert(number, str(columns["outcome"]).replace("'", "''")))

    migrate(empty_url)

    told = "SELECT intent, answer_type, confidence FROM interactions ORDER BY number"
    assert rows(empty_url, told) == [
        (each["intent"], each["answer_type"], each["confidence"]) for each in new
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"value": {"response": 3}}'])
def test_an_outcome_that_cannot_be_read_stops_no_start(empty_url: str, text: str) -> None:
    migrate_to(empty_url, "0003")
    rows(empty_url, insert(1, text))

    migrate(empty_url)

    found = rows(empty_url, "SELECT intent, answer_type, confidence FROM interactions")
    assert found == [("", "", None)]


def test_a_second_holder_is_told_of_the_first(tmp_path: Path) -> None:
    with (
        lock_data_dir(tmp_path),
        pytest.raises(DataDirInUse, match="Another server runs"),
        lock_data_dir(tmp_path),
    ):
        pass


def test_it_can_be_held_again_afterwards(tmp_path: Path) -> None:
    with lock_data_dir(tmp_path):
        pass
    with lock_data_dir(tmp_path):
        pass


def hold(data_dir: Path, told: Event) -> None:
    with lock_data_dir(data_dir):
        told.set()
        time.sleep(60)


@contextmanager
def held_elsewhere(data_dir: Path) -> Iterator[BaseProcess]:
    """Hold a directory in another process until the block ends."""
    forking = get_context("fork")
    told = forking.Event()
    holder = forking.Process(target=hold, args=(data_dir, told))
    holder.start()
    try:
        assert told.wait(10)
        yield holder
    finally:
        holder.kill()
        holder.join()


def test_a_holder_in_another_process_keeps_others_out_until_it_is_killed(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as holder:
        for _ in range(2):
            with (
                pytest.raises(DataDirInUse, match=r"Stop it, or name another folder.*DATABASE_URL"),
                lock_data_dir(tmp_path),
            ):
                pass
        holder.kill()
        holder.join()

        with lock_data_dir(tmp_path):
            pass


def test_a_folder_that_is_a_file_is_named_with_the_cure(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("")

    with pytest.raises(DataDirInUse, match=r"can't be used.*may write to"), lock_data_dir(file):
        pass


def test_a_lock_that_can_t_be_opened_is_named_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "server.lock").mkdir()

    with pytest.raises(DataDirInUse, match=r"can't be used.*may write to"), lock_data_dir(tmp_path):
        pass


def revisions() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return ScriptDirectory.from_config(config)


def test_the_named_head_is_the_last_revision() -> None:
    assert revisions().get_current_head() == HEAD


def test_every_revision_that_a_record_may_have_is_known() -> None:
    # A record names its revision: one with another name could not be opened any more.
    landed = (*(f"{number:04}" for number in range(1, 12)), "0013", "0014")

    known = [each.revision for each in revisions().walk_revisions()]
    assert tuple(reversed(known))[: len(landed)] == landed

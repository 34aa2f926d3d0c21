"""Tests of connections to PostgreSQL: reads, and a server that goes away at any time."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest
from sqlalchemy import text
from sqlalchemy.dialects.postgresql.psycopg import PGDialectAsync_psycopg

from bot.domain.errors import StoreUnavailable
from bot.domain.urls import with_driver
from bot.store import postgres_driver
from bot.store.database import Store, open_store
from bot.store.tables import ConversationRow
from tests.fakes.record_rows import add_conversation, count
from tests.postgres import PASSWORD, Server


@pytest.fixture
def database() -> str:
    return "postgresql"


async def test_a_read_begins_no_transaction(store: Store) -> None:
    async with store.transactions.reading() as connection:
        begun = [await connection.scalar(text("SELECT now()")) for _ in range(2)]

    assert begun[0] != begun[1], "now() is when the transaction began"


@pytest.mark.parametrize(("after", "pings"), [(60.0, 0), (0.0, 2)])
async def test_a_connection_is_pinged_after_a_while_without_use(
    store: Store, monkeypatch: pytest.MonkeyPatch, after: float, pings: int
) -> None:
    await count(store, ConversationRow)
    pinged: list[object] = []
    monkeypatch.setattr(postgres_driver, "PING_AFTER_SECONDS", after)
    monkeypatch.setattr(PGDialectAsync_psycopg, "do_ping", lambda _, each: pinged.append(each))

    for _ in range(2):
        await count(store, ConversationRow)

    assert len(pinged) == pings


async def test_the_next_transaction_works_after_a_restart(store: Store, postgres: Server) -> None:
    await add_conversation(store, "before")
    await asyncio.to_thread(postgres.restart)

    await add_conversation(store, "after")

    assert await count(store, ConversationRow) == 2


async def test_a_crash_costs_nothing_that_was_committed(store: Store, postgres: Server) -> None:
    await add_conversation(store, "before")
    await asyncio.to_thread(postgres.restart, crash=True)

    assert await count(store, ConversationRow) == 1


async def test_a_connection_cut_in_mid_transaction_leaves_nothing_of_it(
    store: Store, postgres: Server, postgres_url: str
) -> None:
    name = postgres_url.rpartition("/")[2]

    with pytest.raises(StoreUnavailable):
        await write_and_be_cut(store, postgres, name)

    assert await count(store, ConversationRow) == 0
    await add_conversation(store, "after")


async def write_and_be_cut(store: Store, postgres: Server, name: str) -> None:
    async with store.transactions.writing() as connection:
        await connection.execute(
            text("INSERT INTO conversations VALUES ('default', 't', 'c', true, now(), now())")
        )
        await asyncio.to_thread(postgres.disconnect, name)
        await connection.execute(text("SELECT 1"))


async def test_a_process_that_stands_still_in_a_transaction_loses_its_locks(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_driver, "IDLE_IN_TRANSACTION_SECONDS", 0.3)
    await add_conversation(store, "wanted by two")
    locked, done = asyncio.Event(), asyncio.Event()
    standing = asyncio.create_task(stand_still(store, locked, done))
    await locked.wait()

    async with asyncio.timeout(30), store.transactions.writing() as connection:
        await connection.execute(text("UPDATE conversations SET private = false"))
    done.set()

    with pytest.raises(StoreUnavailable):
        await standing


async def stand_still(store: Store, locked: asyncio.Event, done: asyncio.Event) -> None:
    async with store.transactions.writing() as connection:
        await connection.execute(text("UPDATE conversations SET private = true"))
        locked.set()
        await done.wait()


async def test_a_server_away_is_unavailable_and_returns(store: Store, postgres: Server) -> None:
    await add_conversation(store, "before")
    await asyncio.to_thread(postgres.stop)
    try:
        with pytest.raises(StoreUnavailable, match="database server"):
            await count(store, ConversationRow)
    finally:
        await asyncio.to_thread(postgres.restart)

    assert await count(store, ConversationRow) == 1


@pytest.mark.parametrize("wrong", ["password", "database", "port"])
async def test_a_failed_start_is_a_line_without_password(postgres_url: str, wrong: str) -> None:
    changed = {
        "password": postgres_url.replace(PASSWORD, "guessed-wrong"),
        "database": postgres_url.replace("/test_", "/absent_"),
        "port": f"postgresql://frontdesk:{PASSWORD}@127.0.0.1:1/frontdesk",
    }[wrong]

    with pytest.raises(StoreUnavailable, match="takes DATABASE_URL's user") as raised:
        await open_store(with_driver(changed))

    said = str(raised.value)
    assert "\n" not in said
    assert PASSWORD not in said
    assert "guessed-wrong" not in said


async def test_a_password_in_the_query_is_not_told_either(postgres_url: str) -> None:
    given = postgres_url.replace(f":{PASSWORD}@", "@") + "?password=guessed-wrong"

    with pytest.raises(StoreUnavailable) as raised:
        await open_store(with_driver(given))

    assert "guessed-wrong" not in str(raised.value)


async def test_a_server_that_never_answers_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        started = time.monotonic()

        with pytest.raises(StoreUnavailable, match="can't be opened"):
            await open_store(with_driver(f"postgresql://u:p@127.0.0.1:{port}/frontdesk"))

    assert 4 < time.monotonic() - started < 60

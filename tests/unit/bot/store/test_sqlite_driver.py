"""Test the connection that runs each statement in one trip to its thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.domain.errors import RecordRefused
from bot.store.connections import Transactions
from bot.store.sqlite_driver import StatementConnection

Trips = Callable[[], int]


@pytest.fixture
async def transactions(tmp_path: Path) -> AsyncIterator[Transactions]:
    opened = Transactions(f"sqlite+aiosqlite:///{tmp_path}/record.sqlite")
    async with opened.writing() as connection:
        await run(connection, "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
    yield opened
    await opened.close()


@pytest.fixture
def trips(caplog: pytest.LogCaptureFixture) -> Trips:
    """Return how many functions aiosqlite has run in a connection's thread."""
    caplog.set_level("DEBUG", logger="aiosqlite")
    return lambda: sum(each.message.startswith("executing") for each in caplog.records)


async def run(connection: AsyncConnection, statement: str) -> list[tuple[object, ...]]:
    found = await connection.execute(text(statement))
    return [tuple(row) for row in found] if found.returns_rows else [(found.rowcount,)]


async def test_a_read_takes_one_trip(transactions: Transactions, trips: Trips) -> None:
    async with transactions.reading() as connection:
        await run(connection, "SELECT 1")
    before = trips()

    async with transactions.reading() as connection:
        assert await run(connection, "SELECT 1, 2 UNION SELECT 3, 4") == [(1, 2), (3, 4)]

    assert trips() == before + 1


async def test_a_write_takes_two_trips(transactions: Transactions, trips: Trips) -> None:
    before = trips()

    async with transactions.writing() as connection:
        assert await run(connection, "INSERT INTO things (name) VALUES ('a'), ('b')") == [(2,)]

    assert trips() == before + 2


async def test_a_transaction_without_statements_takes_none(
    transactions: Transactions, trips: Trips
) -> None:
    before = trips()

    async with transactions.writing():
        pass

    assert trips() == before


async def test_a_statement_after_an_empty_transaction_is_not_in_it(
    transactions: Transactions,
) -> None:
    async with transactions.writing():
        pass
    async with transactions.reading() as connection:
        await run(connection, "SELECT 1")
        opened = (await connection.get_raw_connection()).driver_connection

        assert isinstance(opened, StatementConnection)
        assert not opened.in_transaction


async def test_a_failed_transaction_is_rolled_back(transactions: Transactions) -> None:
    with pytest.raises(RecordRefused):
        await _insert_twice(transactions)

    assert await _names(transactions) == []


async def test_a_cancelled_transaction_is_rolled_back(transactions: Transactions) -> None:
    for steps in range(1, 40):
        writing = asyncio.create_task(_insert_slowly(transactions))
        for _ in range(steps):
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)

        assert await _names(transactions) in ([], ["slow"])
        async with transactions.writing() as connection:
            await run(connection, "DELETE FROM things")


async def _insert_twice(transactions: Transactions) -> None:
    async with transactions.writing() as connection:
        await run(connection, "INSERT INTO things (name) VALUES ('a')")
        await run(connection, "INSERT INTO things (name) VALUES ('a')")


async def _insert_slowly(transactions: Transactions) -> None:
    async with transactions.writing() as connection:
        await run(connection, "INSERT INTO things (name) VALUES ('slow')")


async def _names(transactions: Transactions) -> list[object]:
    async with transactions.reading() as connection:
        return [name for (name,) in await run(connection, "SELECT name FROM things")]

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.domain.errors import RecordRefused, StoreUnavailable
from bot.store.connections import Transactions
from bot.store.database import migrate, sqlite_url


async def test_foreign_keys_hold(tmp_path: Path) -> None:
    migrate(sqlite_url(tmp_path))
    transactions = Transactions(sqlite_url(tmp_path))

    async with transactions.reading() as connection:
        assert (await connection.scalar(text("PRAGMA foreign_keys"))) == 1
        assert (await connection.scalar(text("PRAGMA busy_timeout"))) == 10000
        assert (await connection.scalar(text("PRAGMA synchronous"))) == 2
    await transactions.close()


async def test_what_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    transactions = Transactions(sqlite_url(tmp_path))
    async with transactions.writing() as connection:
        await connection.execute(text("CREATE TABLE kept (n INTEGER)"))

    with pytest.raises(RuntimeError, match="half-way"):
        await insert_and_fail(transactions)

    async with transactions.reading() as connection:
        assert (await connection.scalar(text("SELECT count(*) FROM kept"))) == 0
    await transactions.close()


async def test_a_value_that_does_not_fit_is_told_from_a_record_that_is_away(tmp_path: Path) -> None:
    transactions = Transactions(sqlite_url(tmp_path))
    async with transactions.writing() as connection:
        await connection.execute(text("CREATE TABLE kept (n INTEGER NOT NULL)"))

    with pytest.raises(RecordRefused, match="a defect"):
        async with transactions.writing() as connection:
            await connection.execute(text("INSERT INTO kept VALUES (NULL)"))
    await transactions.close()


async def insert_and_fail(transactions: Transactions) -> None:
    async with transactions.writing() as connection:
        await connection.execute(text("INSERT INTO kept VALUES (1)"))
        raise RuntimeError("half-way")


async def test_writers_in_two_connections_wait_for_each_other(tmp_path: Path) -> None:
    one, other = Transactions(sqlite_url(tmp_path)), Transactions(sqlite_url(tmp_path))
    async with one.writing() as connection:
        await connection.execute(text("CREATE TABLE counter (n INTEGER)"))
        await connection.execute(text("INSERT INTO counter VALUES (0)"))

    async def count(transactions: Transactions) -> None:
        async with transactions.writing() as connection:
            n = await connection.scalar(text("SELECT n FROM counter"))
            await asyncio.sleep(0.001)
            await connection.execute(text("UPDATE counter SET n = :n"), {"n": n + 1})

    await asyncio.gather(*(count(side) for side in (one, other) for _ in range(20)))

    async with one.reading() as connection:
        assert (await connection.scalar(text("SELECT n FROM counter"))) == 40
    await one.close()
    await other.close()


async def test_a_file_that_is_damaged_while_it_is_used_is_told_from_a_full_disk(
    tmp_path: Path,
) -> None:
    record = tmp_path / "frontdesk.sqlite"
    record.write_bytes(b"no database " * 1000)
    transactions = Transactions(sqlite_url(tmp_path))

    with pytest.raises(StoreUnavailable, match=r"is damaged.*put back a copy"):
        async with transactions.reading():
            pass
    await transactions.close()

"""Tests of transactions: their order, their durability, and what is left when they fail."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.domain.errors import RecordRefused, StoreUnavailable
from bot.store.connections import PriorityLock, Transactions
from bot.store.database import Store, migrate, sqlite_url


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


async def test_a_file_damaged_while_it_is_used_is_told_from_a_full_disk(
    tmp_path: Path,
) -> None:
    record = tmp_path / "frontdesk.sqlite"
    record.write_bytes(b"no database " * 1000)
    transactions = Transactions(sqlite_url(tmp_path))

    with pytest.raises(StoreUnavailable, match=r"is damaged.*put back a copy"):
        async with transactions.reading():
            pass
    await transactions.close()


async def served(turns: PriorityLock, order: list[str], name: str, *, urgent: bool = False) -> None:
    async with turns.turn(urgent=urgent):
        order.append(name)
        await asyncio.sleep(0)


async def all_at_once(urgent: int, others: int) -> str:
    """Return the order in which they come when all wait for the same one, the others first."""
    turns, order = PriorityLock(), list[str]()
    async with turns.turn():
        waiting = [asyncio.create_task(served(turns, order, "o")) for _ in range(others)]
        waiting += [
            asyncio.create_task(served(turns, order, "u", urgent=True)) for _ in range(urgent)
        ]
        await asyncio.sleep(0.01)
        assert order == []
    await asyncio.gather(*waiting)
    return "".join(order)


async def test_one_goes_at_a_time_in_order() -> None:
    turns, order, inside = PriorityLock(), list[int](), list[int]()

    async def go(number: int) -> None:
        async with turns.turn():
            inside.append(number)
            await asyncio.sleep(0)
            order.append(number)
            assert inside == [number]
            inside.clear()

    await asyncio.gather(*(go(number) for number in range(20)))

    assert order == list(range(20))


async def test_the_urgent_go_first() -> None:
    assert await all_at_once(urgent=3, others=2) == "uuuoo"


async def test_the_others_are_not_held_up_for_ever() -> None:
    assert await all_at_once(urgent=9, others=2) == "uuuuouuuuou"


async def test_one_that_fails_lets_the_next_go() -> None:
    turns, order = PriorityLock(), list[str]()

    with suppress(RuntimeError):
        async with turns.turn():
            raise RuntimeError

    await asyncio.wait_for(served(turns, order, "next"), 1)
    assert order == ["next"]


async def test_one_that_stops_waiting_takes_no_turn() -> None:
    turns, order = PriorityLock(), list[str]()
    async with turns.turn():
        gone = asyncio.create_task(served(turns, order, "gone"))
        stays = asyncio.create_task(served(turns, order, "stays"))
        await asyncio.sleep(0)
        gone.cancel()
    await asyncio.wait_for(stays, 60)

    assert order == ["stays"]


async def test_one_that_is_cancelled_when_its_turn_comes_passes_it_on() -> None:
    turns, order = PriorityLock(), list[str]()
    async with turns.turn():
        gone = asyncio.create_task(served(turns, order, "gone"))
        stays = asyncio.create_task(served(turns, order, "stays"))
        await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait_for(stays, 60)

    assert order == ["stays"]


SETTINGS = {
    "sqlite": ("PRAGMA synchronous", 2, 1),
    "postgresql": ("SHOW synchronous_commit", "on", "off"),
}


async def waits(store: Store, *, lasting: bool) -> object:
    """Return how the database is told to commit in a transaction."""
    async with store.transactions.writing(lasting=lasting) as connection:
        return await connection.scalar(text(SETTINGS[store.transactions.dialect][0]))


async def test_each_transaction_waits_for_the_disk_as_it_is_told(store: Store) -> None:
    _, full, brief = SETTINGS[store.transactions.dialect]

    told = [await waits(store, lasting=lasting) for lasting in (True, False, False, True, False)]

    assert told == [full, brief, brief, full, brief]


async def test_also_when_many_write_at_once(store: Store) -> None:
    _, full, brief = SETTINGS[store.transactions.dialect]
    wanted = [number % 3 == 0 for number in range(24)]

    told = await asyncio.gather(*(waits(store, lasting=lasting) for lasting in wanted))

    assert told == [full if lasting else brief for lasting in wanted]


async def test_also_after_a_transaction_that_failed(store: Store) -> None:
    _, full, brief = SETTINGS[store.transactions.dialect]
    for lasting in (True, False):
        with pytest.raises(StoreUnavailable):
            await fail(store, lasting=lasting)
        assert await waits(store, lasting=not lasting) == (brief if lasting else full)


async def fail(store: Store, *, lasting: bool) -> None:
    async with store.transactions.writing(lasting=lasting) as connection:
        await connection.execute(text("SELECT * FROM nowhere"))


_SLOW = text(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600000) "
    "SELECT max(i) FROM n"
)


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 5, 8, 13, 21])
async def test_what_was_cancelled_has_ended_at_the_close(rounds: int, tmp_path: Path) -> None:
    before = set(threading.enumerate())
    transactions = Transactions(sqlite_url(tmp_path))

    async def read() -> None:
        async with transactions.reading() as connection:
            await connection.execute(_SLOW)

    reading = asyncio.create_task(read())
    for _ in range(rounds):
        await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await transactions.close()
    left = {each for each in threading.enumerate() if each not in before}
    assert not {each.name for each in left if "_connection_worker" in each.name}


async def test_a_record_that_was_never_used_closes_at_once(tmp_path: Path) -> None:
    transactions = Transactions(sqlite_url(tmp_path))
    await asyncio.wait_for(transactions.close(), 1)

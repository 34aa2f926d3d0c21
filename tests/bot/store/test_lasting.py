"""What must survive a loss of power is waited for, what would be done again is not."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text

from bot.domain.errors import StoreUnavailable
from bot.store.database import Store

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

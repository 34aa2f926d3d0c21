"""Closing a record on SQLite: no thread of it outlives the event loop, whoever was cancelled."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.store.connections import Transactions
from bot.store.database import sqlite_url

_SLOW = text(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600000) "
    "SELECT max(i) FROM n"
)


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 5, 8, 13, 21])
async def test_what_was_cancelled_has_ended_when_the_record_is_closed(
    rounds: int, tmp_path: Path
) -> None:
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

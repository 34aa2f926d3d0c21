from __future__ import annotations

import asyncio

import pytest

from ingestion.concurrency import for_each


async def test_all_is_done_and_never_more_than_so_many_at_a_time() -> None:
    under_way: set[int] = set()
    done: list[int] = []
    most = 0

    async def work(item: int) -> None:
        nonlocal most
        under_way.add(item)
        most = max(most, len(under_way))
        await asyncio.sleep(0)
        under_way.remove(item)
        done.append(item)

    await for_each(range(9), work, at_once=3)

    assert (done, most) == (list(range(9)), 3)


async def test_the_first_error_comes_as_it_is_and_what_waits_is_not_begun() -> None:
    begun: list[int] = []

    async def work(item: int) -> None:
        begun.append(item)
        await asyncio.sleep(0)
        raise LookupError(item)

    with pytest.raises(LookupError):
        await for_each(range(9), work, at_once=2)

    assert len(begun) < 9

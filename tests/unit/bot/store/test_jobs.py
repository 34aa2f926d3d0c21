"""Tests of the leases and marks of background jobs."""

from __future__ import annotations

from datetime import timedelta

from bot.store.database import Store

HOUR = timedelta(hours=1)
OVER = timedelta(seconds=-1)


async def test_a_job_is_one_process_at_a_time(store: Store) -> None:
    assert await store.jobs.take("acme", "gaps", "one", HOUR)
    assert await store.jobs.take("acme", "gaps", "one", HOUR)
    assert not await store.jobs.take("acme", "gaps", "two", HOUR)
    assert await store.jobs.take("other", "gaps", "two", HOUR)

    await store.jobs.release("acme", "gaps", "two")
    assert not await store.jobs.take("acme", "gaps", "two", HOUR)
    await store.jobs.release("acme", "gaps", "one")
    assert await store.jobs.take("acme", "gaps", "two", HOUR)


async def test_a_job_of_a_dead_process_is_taken_over(store: Store) -> None:
    assert await store.jobs.take("acme", "gaps", "dead", OVER)

    assert await store.jobs.take("acme", "gaps", "two", HOUR)


async def test_a_job_goes_on_from_its_mark(store: Store) -> None:
    assert await store.jobs.mark("acme", "gaps") == ""
    await store.jobs.take("acme", "gaps", "one", HOUR)
    await store.jobs.set_mark("acme", "gaps", "41")
    await store.jobs.set_mark("acme", "gaps", "42")

    assert await store.jobs.mark("acme", "gaps") == "42"
    assert not await store.jobs.take("acme", "gaps", "two", HOUR)

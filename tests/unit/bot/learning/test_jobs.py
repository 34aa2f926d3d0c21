"""Tests of jobs that run in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from bot.domain.errors import StoreUnavailable
from bot.learning.jobs import Job, JobRunner

FAR = timedelta(hours=1)


class Leases:
    """Leases in memory: a job is of one owner at a time."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], str] = {}

    async def take(self, tenant: str, job: str, owner: str, lease: timedelta) -> bool:
        return self.held.setdefault((tenant, job), owner) == owner

    async def release(self, tenant: str, job: str, owner: str) -> None:
        if self.held.get((tenant, job)) == owner:
            del self.held[tenant, job]


def _runner(leases: Leases, *jobs: Job, owner: str = "one") -> JobRunner:
    return JobRunner("acme", jobs, leases, owner=owner, is_open=lambda: True)


def _job(run: Callable[[], Awaitable[bool]]) -> Job:
    return Job("gaps", FAR, run)


async def test_a_job_is_called_until_nothing_is_left_and_when_hurried() -> None:
    calls, done = 0, asyncio.Event()

    async def run() -> bool:
        nonlocal calls
        calls += 1
        if calls in {3, 4}:
            done.set()
        return calls < 3

    runner = _runner(Leases(), _job(run))
    runner.start()
    await done.wait()
    assert calls == 3
    done.clear()
    runner.hurry("gaps")
    await done.wait()
    await runner.stop()
    assert calls == 4


async def test_a_job_that_another_process_works_on_is_not_called() -> None:
    called = False

    async def run() -> bool:
        nonlocal called
        called = True
        return False

    leases, job = Leases(), _job(run)
    await leases.take("acme", "gaps", "other", FAR)

    assert not await _runner(leases, job).call(job)
    assert not called


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), ZeroDivisionError()])
async def test_a_job_that_fails_is_free_and_tried_again(error: Exception) -> None:
    async def run() -> bool:
        raise error

    leases, job = Leases(), _job(run)

    assert not await _runner(leases, job).call(job)
    assert not leases.held


async def test_a_stopped_job_frees_its_lease() -> None:
    begun = asyncio.Event()

    async def run() -> bool:
        begun.set()
        await asyncio.Event().wait()
        return False

    leases = Leases()
    runner = _runner(leases, _job(run))
    runner.start()
    await begun.wait()
    await runner.stop()

    assert not leases.held

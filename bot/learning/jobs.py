"""Run the jobs of this room in the background, each by one process at a time.

A job is called again and again; between two calls it waits. A call does a bounded piece of work,
records how far it came, and can be killed anywhere: the next call, of this process or another, goes
on from what is recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

import structlog

from bot.domain.errors import BotError
from ingestion.errors import IngestionError
from rag.errors import RagError

LEASE = timedelta(minutes=10)
"""How long a process may work on one call of a job; then another one takes the job over."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of background work; ``run`` returns whether there is more to do at once.

    ``name`` is at most 32 characters. ``every`` is the pause after a call that left nothing to do,
    or that failed.
    """

    name: str
    every: timedelta
    run: Callable[[], Awaitable[bool]]


class JobLeases(Protocol):
    """Which process works on which job. Raises StoreUnavailable."""

    async def take(self, tenant: str, job: str, owner: str, lease: timedelta) -> bool:
        """Return whether a job is free, or this owner's; it is this owner's for ``lease`` then."""
        ...

    async def release(self, tenant: str, job: str, owner: str) -> None:
        """Free a job if this owner has it."""
        ...


class JobMarks(Protocol):
    """How far each job came, in its own words. Raises StoreUnavailable."""

    async def mark(self, tenant: str, job: str) -> str:
        """Return what the job recorded last; "" at first."""
        ...

    async def set_mark(self, tenant: str, job: str, mark: str) -> None:
        """Record how far a job came."""
        ...


class JobRunner:
    """Runs jobs side by side until it is stopped; a job that fails is logged and tried again.

    Args:
        tenant: Whose jobs these are.
        jobs: What to run.
        leases: Keeps other processes from a job meanwhile.
        owner: The name of this process.
        is_open: Returns whether work may be done; the jobs wait until it may.
    """

    def __init__(
        self,
        tenant: str,
        jobs: Sequence[Job],
        leases: JobLeases,
        *,
        owner: str,
        is_open: Callable[[], bool],
    ) -> None:
        self._tenant = tenant
        self.jobs = tuple(jobs)
        self._leases = leases
        self._owner = owner
        self._is_open = is_open
        self._tasks: list[asyncio.Task[None]] = []
        self._hurried = {job.name: asyncio.Event() for job in jobs}

    def start(self) -> None:
        """Start all jobs; call it once."""
        self._tasks = [asyncio.create_task(self._repeat(job)) for job in self.jobs]

    async def stop(self) -> None:
        """Cancel what runs, and free its leases."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hurry(self, name: str) -> None:
        """Have a job called now, because there is something new for it."""
        self._hurried[name].set()

    async def _repeat(self, job: Job) -> None:
        hurried = self._hurried[job.name]
        while True:
            more = self._is_open() and await self.call(job)
            if more:
                await asyncio.sleep(0)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(job.every.total_seconds()):
                    await hurried.wait()
            hurried.clear()

    async def call(self, job: Job) -> bool:
        """Call a job once, if no other process works on it; return whether there is more to do."""
        try:
            if not await self._leases.take(self._tenant, job.name, self._owner, LEASE):
                return False
            try:
                async with asyncio.timeout(LEASE.total_seconds()):
                    return await job.run()
            finally:
                await self._leases.release(self._tenant, job.name, self._owner)
        except (BotError, RagError, IngestionError, TimeoutError) as error:
            log.warning("job.failed", job=job.name, why=str(error) or "took too long")
        except Exception:
            # A job that breaks must not end the others, nor itself for good.
            log.exception("job.broke", job=job.name)
        return False


def week_begin(at: datetime) -> datetime:
    """Return the beginning of a time's ISO week: Monday 0:00 UTC."""
    day = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=day.weekday())

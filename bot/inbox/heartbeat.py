"""Renew this process's lease, and take over the work of processes that died."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import structlog

from bot.domain.errors import BotError, EngineUnavailable, StoreUnavailable
from bot.domain.health import ComponentStatus
from bot.inbox.accept import DurableInbox
from bot.inbox.ports import DurableEngine, Replicas
from bot.observability.logs import LastingTrouble

_SAFETY_MARGIN_SECONDS = 2.0
"""For clock drift and pauses: this process stops posting before others may take over."""


class Lease:
    """The lease of this process, on the monotonic clock, counted from before each renewal request.

    Args:
        replicas: Where leases are stored.
        replica: The unique name of this process.
        alone: Whether a lock on the data directory excludes other processes; then the lease always
            holds.
        seconds: How long it lasts.
    """

    def __init__(
        self, replicas: Replicas, replica: str, *, alone: bool, seconds: float = 5.0
    ) -> None:
        self._replicas = replicas
        self._replica = replica
        self._alone = alone
        self._seconds = seconds
        self._until = -math.inf
        self._lapsed = False
        self._regained_at = -math.inf

    def holds(self) -> bool:
        """Return whether this process may still act on its claims."""
        return self._alone or time.monotonic() < self._until - _SAFETY_MARGIN_SECONDS

    def lapse(self) -> None:
        """Note that the record was away, so that all leases may have run out."""
        self._lapsed = True

    def judges_others(self) -> bool:
        """Return whether others had the time to renew their leases since this one lapsed.

        All run out at once when the record was away.
        """
        return self._alone or time.monotonic() >= self._regained_at + self._seconds

    async def prolong(self) -> None:
        """Begin or renew the lease. Raises StoreUnavailable."""
        asked_at = time.monotonic()
        if self._alone:
            await self._replicas.alone(self._replica)
        await self._replicas.prolong(self._replica, seconds=self._seconds)
        now = time.monotonic()
        # Measured now: if this request was slow, those of others probably are, too.
        if self._lapsed or -math.inf < self._until <= now:
            self._lapsed, self._regained_at = False, now
        self._until = asked_at + self._seconds

    async def release(self) -> None:
        """Give up the lease, so that others can take over at once."""
        self._until = -math.inf
        await self._replicas.release(self._replica)


log = structlog.get_logger(__name__)

_BEAT_SECONDS = 1.0
"""Between two renewals of the lease, and two looks for processes that died."""

_BEATS_A_ROUND = 3
"""Between two looks for work that nobody does, which cost more the more is unfinished."""

_TAKE_UP_SECONDS = 0.25
"""Between two looks for what other processes kept; one costs some two milliseconds."""

_CLEAN_UP_SECONDS = 3600.0
_STOPPED = "This server is stopping. Send it again in a minute."


class InboxSupervisor:
    """Starts the inbox, runs its periodic tasks and stops it.

    Args:
        prepare: Migrates the store's schema. Raises StoreUnavailable.
        clean: Deletes expired data; called at the start and every hour.
        patient: Whether a start keeps retrying when store or engine are unavailable (a database
            server may come later; a file that can't be opened needs an operator).
    """

    def __init__(
        self,
        *,
        inbox: DurableInbox,
        engine: DurableEngine,
        lease: Lease,
        replicas: Replicas,
        prepare: Callable[[], Awaitable[None]],
        clean: Callable[[], Awaitable[None]],
        patient: bool,
    ) -> None:
        self._inbox = inbox
        self._engine = engine
        self._lease = lease
        self._replicas = replicas
        self._prepare = prepare
        self._clean = clean
        self._patient = patient
        self._started = False
        self._drained = False
        self._trouble = LastingTrouble("inbox", "not started yet")
        self._tasks: list[asyncio.Task[None]] = []

    def is_ready(self) -> bool:
        """Return whether the record may be read and written."""
        return not self._trouble.text

    def part(self) -> ComponentStatus:
        """Return the inbox's status, for the start-up list and /ready."""
        if self._trouble.text:
            return ComponentStatus("inbox", "failed", self._trouble.text)
        return ComponentStatus("inbox", "ready", "messages are kept before they are acknowledged")

    async def start(self) -> None:
        """Open the inbox. Raises StoreUnavailable, EngineUnavailable unless ``patient``."""
        # The lease is renewed during the first adoption, too: there may be much to take over.
        self._tasks = [asyncio.create_task(self._beat())]
        try:
            await self._begin()
            await self._look_after(whole=True)
        except BotError as error:
            if not self._patient and isinstance(error, StoreUnavailable | EngineUnavailable):
                await _cancel_all(self._tasks)
                raise
            self._lease.lapse()
            self._trouble.text = str(error)
            log.error("inbox.not_started", why=str(error))  # noqa: TRY400 - the message says it all
        else:
            self._trouble.text = ""
        loops = (self._go_round(), self._take_up(), self._clean_up())
        self._tasks += [asyncio.create_task(loop) for loop in loops]

    async def drain(self) -> None:
        """Accept no more and finish work in progress; once, while callers are still connected."""
        self._inbox.close(_STOPPED)
        # The first task renews the lease until work in progress is finished.
        await _cancel_all(self._tasks[1:])
        if self._started and not self._drained:
            self._drained = True
            await self._inbox.drain()

    async def stop(self) -> None:
        """Finish work in progress, and leave the rest to other processes."""
        await self.drain()
        await _cancel_all(self._tasks[:1])
        await self._engine.stop()
        with suppress(StoreUnavailable):
            await self._lease.release()

    async def _begin(self) -> None:
        await self._prepare()
        await self._lease.prolong()
        await self._engine.start(self._inbox.run)
        self._started = True
        self._inbox.open()

    async def _beat(self) -> None:
        """Renew the lease, however long other tasks take; skipped where this process is alone."""
        while True:
            await _wait_for_next_beat()
            if self._started and self._patient:
                try:
                    await self._lease.prolong()
                except Exception as error:  # noqa: BLE001 - the next beat tries again
                    log.warning("lease.not_prolonged", error=type(error).__name__)

    async def _go_round(self) -> None:
        """Look for dead processes in every beat, where others can be, and for lost work in some."""
        beats = 0
        while True:
            await _wait_for_next_beat()
            beats += 1
            whole = beats % _BEATS_A_ROUND == 0
            if not whole and not self._patient:
                continue
            try:
                await self._look_after(whole=whole)
            except Exception as error:  # noqa: BLE001 - noted; the next round tries again
                self._trouble.note(error)
            else:
                self._trouble.note(None)

    async def _take_up(self) -> None:
        """Take what processes kept that only keep; only a shared record has such processes."""
        while self._patient:
            await asyncio.sleep(_TAKE_UP_SECONDS)
            if not self._started:
                continue
            try:
                await self._inbox.take_up()
            except Exception:  # noqa: BLE001 - the round notes the trouble; it is tried again
                await _wait_for_next_beat()

    async def _clean_up(self) -> None:
        """Delete expired data; a separate task, because it may take long and nothing awaits it."""
        while True:
            await _wait_for_next_beat()
            if not self._started:
                continue
            try:
                await self._engine.forget()
                await self._clean()
            except Exception as error:  # noqa: BLE001 - tried again in an hour
                log.warning("inbox.not_cleaned", error=type(error).__name__)
            await asyncio.sleep(_CLEAN_UP_SECONDS)

    async def _look_after(self, *, whole: bool) -> None:
        if not self._started:
            await self._begin()
            return
        await self._lease.prolong()
        if not self._lease.holds():
            return
        dead = await self._replicas.dead() if self._lease.judges_others() else ()
        if not dead and not whole:
            return
        adopted = await self._inbox.adopt(dead)
        # Only now, so that a failed takeover is repeated.
        for replica in dead:
            await self._replicas.bury(replica)
        if dead or adopted:
            # A server that was stopped and left nothing is no trouble.
            note = log.warning if adopted else log.info
            note("inbox.taken_over", replicas=len(dead), interactions=adopted)


async def _cancel_all(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _wait_for_next_beat() -> None:
    spread = random.uniform(0.9, 1.1)  # noqa: S311 - so that replicas do not beat in step
    await asyncio.sleep(_BEAT_SECONDS * spread)

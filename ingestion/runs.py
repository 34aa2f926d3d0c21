"""Runs in the background of a server: begun, watched and stopped by people.

A run is ingestion.run.sync_source, space by space. Nothing here decides what is done: the plan is
made anew each time, so a run that was killed is resumed by beginning it again.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import structlog

from ingestion.errors import (
    DocumentInTheWay,
    DocumentUnknown,
    IngestionError,
    LedgerUnavailable,
    RunInProgress,
    TooManyRemoved,
)
from ingestion.ledger import Ledger, Run, State, Synced
from ingestion.names import shortened
from ingestion.ports import Progress
from ingestion.sources import Sources
from ingestion.tally import Tally, failure, held_back
from ingestion.types import Report
from rag.errors import RagError

log = structlog.get_logger(__name__)

SyncSpace = Callable[[str, Progress, Run], Awaitable[Report]]
"""Brings a space up to date with its source. Raises as ingestion.run.sync_source."""

_AT_ONCE = 2
_WRITE_SECONDS = 0.5
_LEASE_SECONDS = 0.5
_BROKEN = "something broke on our side; it is in the log"
AT_START = "start"
"""Who begins what a start has to mend."""


class Runs:
    """The runs of this process; what it tells are those of all.

    Args:
        ledger: where runs are told.
        sources: what can be read.
        work: what a run does with each space.
    """

    def __init__(self, ledger: Ledger, sources: Sources, work: SyncSpace) -> None:
        self._ledger = ledger
        self._sources = sources
        self._work = work
        self._locks: dict[str, asyncio.Lock] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._waiting: dict[str, str] = {}
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._stopping = False

    async def start(
        self, space: str | None, *, by: str, dry_run: bool = False, allow_mass_delete: bool = False
    ) -> str:
        """Begin a run over a space or all; return its id.

        Raises:
            DocumentUnknown: it is not known what fills the space.
            DocumentInTheWay: another run is over the space.
        """
        if space is not None:
            await self._sources.of(space)
        for run in await self._ledger.active():
            if not dry_run and not run.dry_run and _meet(run.space, space):
                told = f"the space {run.space!r}" if run.space else "all spaces"
                raise DocumentInTheWay(
                    f"A run over {told} is under way. Wait until it ends, or cancel it."
                )
        run = _new(space, by, dry_run=dry_run)
        return await self._begin(replace(run, allow_mass_delete=allow_mass_delete))

    async def request(self, space: str, *, by: str, allow_mass_delete: bool = False) -> str:
        """See to it that a space is read once more; a run that only waits will do.

        Return the run's id.
        """
        waiting = self._waiting.get(space)
        if waiting is not None:
            return waiting
        run = replace(_new(space, by), allow_mass_delete=allow_mass_delete)
        self._waiting[space] = run.id
        try:
            return await self._begin(run)
        except BaseException:
            # What was never begun is nobody's to join.
            self._forget_waiting(run)
            raise

    async def busy(self, space: str) -> bool:
        """Tell whether a run is over a space now, in any process."""
        return any(_meet(run.space, space) for run in await self._ledger.active())

    async def newest(self, limit: int) -> Sequence[Run]:
        """Return the last runs, newest first."""
        return await self._ledger.newest(limit)

    async def get(self, run_id: str) -> Run | None:
        return await self._ledger.get(run_id)

    async def cancel(self, run_id: str) -> None:
        """Stop a run, in whichever process; what is written stays. One that ended is no error.

        Raises DocumentUnknown.
        """
        if await self._ledger.get(run_id) is None:
            raise DocumentUnknown(f"There is no run {shortened(run_id)}.")
        await self._ledger.cancel(run_id)
        task = self._tasks.get(run_id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def resume(self, spaces: Sequence[str]) -> None:
        """Read these spaces again, and those whose runs were interrupted.

        What was interrupted is settled last: a start that is cut off here resumes it all the same.
        """
        interrupted = await self._ledger.interrupted()
        known = sorted(await self._sources.spaces())
        over = {run.id: _again(run, known) for run in interrupted}
        allowed = {space for run in interrupted if run.allow_mass_delete for space in over[run.id]}
        begun: dict[str, str] = {}
        for space in known:
            if space in spaces or any(space in again for again in over.values()):
                begun[space] = await self.request(
                    space, by=AT_START, allow_mass_delete=space in allowed
                )
        await self._ledger.settle(
            [
                replace(run, resumed_as=tuple(begun[space] for space in over[run.id]))
                for run in interrupted
            ]
        )

    async def settled(self) -> None:
        """Wait until nothing is under way in this process."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def stop(self) -> None:
        """Interrupt what is under way; the next start resumes it."""
        self._stopping = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _begin(self, run: Run) -> str:
        await self._ledger.write(run)
        task = asyncio.create_task(self._run(Tally(run)))
        self._tasks[run.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(run.id, None))
        return run.id

    async def _run(self, tally: Tally) -> None:
        telling = asyncio.create_task(self._tell(tally, asyncio.current_task()))
        state: State = "failed"
        try:
            await self._all(tally)
            state = "failed" if tally.broken else "done"
        except asyncio.CancelledError:
            state = "interrupted" if self._stopping else "cancelled"
        except Exception:
            log.exception("reindex.failed", run=tally.run.id)
            tally.trouble(failure(tally.run.at_space, "", _BROKEN))
        finally:
            telling.cancel()
            # Who cancels twice must not keep the end from being told.
            await asyncio.shield(self._end(tally, state))

    async def _end(self, tally: Tally, state: State) -> None:
        self._forget_waiting(tally.run)
        if state == "interrupted":
            # Left as it is: the next start finds it without an owner, and resumes it.
            return
        run = tally.ended(state)
        await self._tell_end(run)
        log.info("reindex.ended", run=run.id, space=run.space, state=state, chunks=run.chunks)

    async def _tell_end(self, run: Run) -> None:
        """Write it until it is kept: until then the run stands in the way of the next."""
        said = False
        while not self._stopping:
            try:
                await self._ledger.write(run)
            except LedgerUnavailable as error:
                if not said:
                    log.error("reindex.untold", run=run.id, why=str(error))  # noqa: TRY400
                said = True
                await asyncio.sleep(_WRITE_SECONDS)
            else:
                return

    async def _all(self, tally: Tally) -> None:
        space = tally.run.space
        for each in [space] if space is not None else await self._sources.spaces():
            lock = self._locks.setdefault(each, asyncio.Lock())
            async with lock, self._places:
                await self._one(tally, each)

    async def _one(self, tally: Tally, space: str) -> None:
        """Work on a space once no other process does."""
        while True:
            self._forget_waiting(tally.run)
            begun = tally.at(space)
            try:
                report = await self._work(space, tally, tally.run)
            except (RunInProgress, LedgerUnavailable):
                # Also a full disk is waited for: what was taken in is to be found in the end.
                tally.wait()
                await asyncio.sleep(_LEASE_SECONDS)
                continue
            except TooManyRemoved as error:
                tally.trouble(held_back(space, str(error)))
            except (IngestionError, RagError) as error:
                tally.trouble(failure(space, "", str(error)))
            else:
                await self._note(tally, report, begun)
            return

    async def _note(self, tally: Tally, report: Report, begun: datetime) -> None:
        failures = tally.take(report)
        if not report.dry_run:
            synced = Synced(begun, datetime.now(UTC), failures)
            await self._ledger.note_synced(report.space, synced)

    async def _tell(self, tally: Tally, working: asyncio.Task[None] | None) -> None:
        """Keep the ledger up to date, and look whether somebody wants the run to stop."""
        while True:
            await asyncio.sleep(_WRITE_SECONDS)
            with suppress(LedgerUnavailable):
                if await self._ledger.write(tally.now()) and working is not None:
                    working.cancel()
                    return

    def _forget_waiting(self, run: Run) -> None:
        """From now on a change of the space needs another run."""
        if run.space is not None and self._waiting.get(run.space) == run.id:
            del self._waiting[run.space]


def _new(space: str | None, by: str, *, dry_run: bool = False) -> Run:
    return Run(
        id=uuid.uuid4().hex,
        space=space,
        dry_run=dry_run,
        allow_mass_delete=False,
        by=by,
        state="waiting",
        created_at=datetime.now(UTC),
    )


def _again(run: Run, known: Sequence[str]) -> Sequence[str]:
    """Return the spaces that a run of a dead process leaves to be read again."""
    if run.dry_run or run.state == "cancelled":
        return ()
    return [space for space in known if run.space in {None, space}]


def _meet(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other

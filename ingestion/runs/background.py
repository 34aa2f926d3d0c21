"""Start, track, cancel and execute runs in the background of a server.

A run calls ingestion.sync.sync.sync_source, space by space, waiting where another run works.
Nothing here decides what is done: the plan is computed anew each time, so a killed run is resumed
by starting it again.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
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
from ingestion.records.ledger import Ledger
from ingestion.records.types import Failure, Run, State
from ingestion.runs.source_registry import Sources, record_report
from ingestion.runs.tracking import (
    ProgressLog,
    RunCounters,
    RunScope,
    Takeover,
    failure_of,
    removal_refused,
)
from ingestion.types import Extent, Progress, Report
from ingestion.validation import shortened
from rag.errors import RagError

log = structlog.get_logger(__name__)

SyncSpace = Callable[[str, Progress, Run], Awaitable[Report]]
"""Syncs a space with its source. Raises as ingestion.sync.sync.sync_source."""

OnRemovalRefused = Callable[[str, str], Awaitable[None]]
"""Called with a space and the reason when its run refuses to remove too much of it, or all."""

_AT_ONCE = 2
_LEASE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 5.0
_SOURCE_CURE = "Fix that (python -m ingestion doctor tests it), then reindex everything."
_WIKI = "Confluence"
"""Shown instead of a space when the list of spaces is unavailable."""


class SpaceExecutor:
    """Executes runs over spaces: one run at a time per space, two spaces at once.

    Args:
        ledger: Stores when a space was last synced.
        sources: The sources that can be read.
        work: Syncs one space.
        on_held_back: Called when a run refuses a mass deletion.
    """

    def __init__(
        self,
        ledger: Ledger,
        sources: Sources,
        work: SyncSpace,
        on_held_back: OnRemovalRefused | None,
    ) -> None:
        self._ledger = ledger
        self._sources = sources
        self._work = work
        self._on_held_back = on_held_back
        self._locks: dict[str, asyncio.Lock] = {}
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def execute(self, counters: RunCounters, on_begun: Callable[[Run], None]) -> None:
        """Process the spaces of a run; errors of a space are recorded in the counters.

        ``on_begun`` is called each time a source is about to be read.
        """
        for each in await self._spaces_of(counters):
            lock = self._locks.setdefault(each, asyncio.Lock())
            async with lock, self._slots:
                await self._one(counters, each, on_begun)

    async def _spaces_of(self, counters: RunCounters) -> Sequence[str]:
        """Return the spaces of a run; count an error that hides some of them."""
        if counters.run.space is not None:
            return [counters.run.space]
        unseen = await self._sources.listing_error()
        if unseen:
            counters.add_broken_space(Failure(_WIKI, "", unseen, _SOURCE_CURE))
        return await self._sources.spaces()

    async def _one(
        self, counters: RunCounters, space: str, on_begun: Callable[[Run], None]
    ) -> None:
        """Process a space once no other process does."""
        pause = _LEASE_SECONDS
        while True:
            on_begun(counters.run)
            begun = counters.enter(space)
            try:
                report = await self._work(space, counters, counters.run)
            except (RunInProgress, LedgerUnavailable):
                # A full disk is retried too: an accepted upload must become searchable in the end.
                counters.wait()
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
                continue
            except TooManyRemoved as error:
                await self._hold_back(counters, space, error)
            except (IngestionError, RagError) as error:
                counters.add_broken_space(failure_of(space, "", str(error)))
            else:
                await self._record(counters, report, begun)
            return

    async def _record(self, counters: RunCounters, report: Report, begun: datetime) -> None:
        counters.add_report(report)
        if not report.dry_run:
            await record_report(self._ledger, report, begun)

    async def _hold_back(self, counters: RunCounters, space: str, error: TooManyRemoved) -> None:
        why = removal_refused(space, str(error))
        counters.add_broken_space(why)
        log.error("reindex.held_back", run=counters.run.id, space=space, why=why.reason)
        if self._on_held_back is None:
            return
        try:
            await self._on_held_back(space, why.reason)
        except Exception:
            # The refusal is in the run and in the log in any case.
            log.exception("reindex.not_told", space=space)


_INTERNAL_ERROR = "something broke on our side; it is in the log"
AT_START = "start"
"""Initiator (``Run.by``) of the runs that repair interrupted work at the start."""


class Runs:
    """Starts and cancels the runs of this process, and lists those of all processes.

    Args:
        ledger: stores runs.
        sources: the sources that can be read.
        work: syncs one space.
        on_held_back: called when a run refuses a mass deletion.
    """

    def __init__(
        self,
        ledger: Ledger,
        sources: Sources,
        work: SyncSpace,
        on_held_back: OnRemovalRefused | None = None,
    ) -> None:
        self._ledger = ledger
        self._sources = sources
        self._executor = SpaceExecutor(ledger, sources, work, on_held_back)
        self._progress_log = ProgressLog(ledger)
        self._takeover = Takeover(ledger)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._waiting: dict[RunScope, str] = {}
        self._starting = asyncio.Lock()
        self._stopping = False

    async def start(
        self,
        space: str | None,
        *,
        by: str,
        dry_run: bool = False,
        allow_mass_delete: bool = False,
        extent: Extent = "all",
        page: str = "",
    ) -> str:
        """Start a run over a space or all, or over one page by address or id; return its id.

        A run over one page does not conflict with another run: it waits for the space.

        Raises:
            DocumentUnknown: the source of the space, or the space of the page, is unknown.
            DocumentInTheWay: another run is over the space.
            SourceUnavailable: the source cannot be reached now.
        """
        if page:
            space, extent = space or await self._space_with(page), "page"
        if space is not None:
            await self._sources.source(space)
        run = _new(space, by, extent, page, dry_run=dry_run)
        async with self._starting:
            await self._refuse_second(run)
            return await self._begin(replace(run, allow_mass_delete=allow_mass_delete))

    async def find_space(self, url: str) -> str | None:
        """Return the space of the page at an address, indexed or not; None for a foreign page.

        Raises SourceUnavailable.
        """
        return await self._sources.space_of(url)

    async def request(
        self,
        space: str,
        *,
        by: str,
        allow_mass_delete: bool = False,
        extent: Extent = "all",
        page: str = "",
    ) -> str:
        """Ensure that a space is read once more, reusing a run that is still waiting.

        Return the run's id.
        """
        waiting = self._waiting.get((space, extent, page))
        if waiting is not None:
            return waiting
        run = replace(_new(space, by, extent, page), allow_mass_delete=allow_mass_delete)
        self._waiting[space, extent, page] = run.id
        try:
            return await self._begin(run)
        except BaseException:
            # A run that was never started cannot be joined.
            self._forget_waiting(run)
            raise

    async def busy(self, space: str) -> bool:
        """Return whether a run is over a space now, in any process."""
        return any(_overlap(run.space, space) for run in await self._ledger.active())

    async def newest(self, limit: int) -> Sequence[Run]:
        """Return the last runs, newest first."""
        return await self._ledger.newest(limit)

    async def get(self, run_id: str) -> Run | None:
        return await self._ledger.get(run_id)

    async def cancel(self, run_id: str) -> None:
        """Cancel a run, in whichever process; what is written stays. A run that ended is no error.

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
        """Sync these spaces again, and those whose runs were interrupted.

        Interrupted runs are settled last: if this start is interrupted too, the next one resumes
        them.
        """
        known = sorted(await self._sources.spaces())
        adopted = await self._takeover.adopted(known)
        allowed, begun = adopted.allowed, dict[RunScope, str]()
        for each in adopted.beyond(space for space in known if space in spaces):
            space, extent, page = each
            begun[each] = await self.request(
                space, by=AT_START, allow_mass_delete=each in allowed, extent=extent, page=page
            )
        await self._takeover.settle(adopted, begun)

    async def settled(self) -> None:
        """Wait until no run is active in this process."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def stop(self) -> None:
        """Interrupt active runs; the next start resumes them."""
        self._stopping = True
        self._progress_log.stop()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _space_with(self, page: str) -> str:
        space = await self._sources.space_of(page)
        if space is None:
            raise DocumentUnknown(
                f"There is no readable page at {shortened(page)}. Check the address, and whether "
                "its space is one that is read."
            )
        return space

    async def _refuse_second(self, run: Run) -> None:
        if run.dry_run or run.page:
            return
        for other in await self._ledger.active():
            if not (other.dry_run or other.page) and _overlap(other.space, run.space):
                what = f"the space {other.space!r}" if other.space else "all spaces"
                raise DocumentInTheWay(
                    f"A run over {what} is under way. Wait until it ends, or cancel it."
                )

    async def _begin(self, run: Run) -> str:
        await self._ledger.begin(run)
        task = asyncio.create_task(self._run(RunCounters(run)))
        self._tasks[run.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(run.id, None))
        return run.id

    async def _run(self, counters: RunCounters) -> None:
        logging_progress = asyncio.create_task(
            self._progress_log.follow(counters, asyncio.current_task())
        )
        state: State = "failed"
        try:
            await self._executor.execute(counters, self._forget_waiting)
            state = "failed" if counters.broken else "done"
        except asyncio.CancelledError:
            state = "interrupted" if self._stopping else "cancelled"
        except Exception:
            log.exception("reindex.failed", run=counters.run.id)
            counters.add_broken_space(failure_of(counters.run.at_space, "", _INTERNAL_ERROR))
        finally:
            logging_progress.cancel()
            # A second cancellation must not prevent the end from being recorded.
            await asyncio.shield(self._end(counters, state))

    async def _end(self, counters: RunCounters, state: State) -> None:
        self._forget_waiting(counters.run)
        if state == "interrupted":
            # Left unrecorded: the next start finds the run without an owner, and resumes it.
            return
        run = counters.ended(state)
        await self._progress_log.end(run)
        log.info("reindex.ended", run=run.id, space=run.space, state=state, chunks=run.chunks)

    def _forget_waiting(self, run: Run) -> None:
        """Let later changes of the space require another run."""
        over = (run.space or "", run.extent, run.page)
        if self._waiting.get(over) == run.id:
            del self._waiting[over]


def _new(
    space: str | None, by: str, extent: Extent = "all", page: str = "", *, dry_run: bool = False
) -> Run:
    return Run(
        id=uuid.uuid4().hex,
        space=space,
        dry_run=dry_run,
        allow_mass_delete=False,
        by=by,
        state="waiting",
        created_at=datetime.now(UTC),
        extent=extent,
        page=page,
    )


def _overlap(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other

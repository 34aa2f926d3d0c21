"""Begin, watch, stop and work off runs in the background of a server.

A run is ingestion.sync.sync.sync_source, space by space, waiting where another run works.
Nothing here decides what is done: the plan is made anew each time, so a run that was killed is
resumed by beginning it again.
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
from ingestion.ports import Progress
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
from ingestion.types import Extent, Report
from ingestion.validation import shortened
from rag.errors import RagError

log = structlog.get_logger(__name__)

SyncSpace = Callable[[str, Progress, Run], Awaitable[Report]]
"""Brings a space up to date with its source. Raises as ingestion.sync.sync.sync_source."""

OnRemovalRefused = Callable[[str, str], Awaitable[None]]
"""Is told of a space whose run held back, and why: too much of it, or all, is gone."""

_AT_ONCE = 2
_LEASE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 5.0
_SOURCE_CURE = "Mend that (python -m ingestion doctor tries it), and reindex all."
_WIKI = "Confluence"
"""Stands for the space where it can't be asked which there are."""


class SpaceExecutor:
    """The spaces that this process works on: each by one run at a time, two at once.

    Args:
        ledger: Where it is noted when a space was brought up to date.
        sources: What can be read.
        work: What is done with each space.
        on_held_back: Who is told when a run holds back.
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
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def all(self, tally: RunCounters, on_begun: Callable[[Run], None]) -> None:
        """Work on what a run is over; what goes wrong with a space is in the tally.

        ``on_begun`` is called each time a source is about to be read.
        """
        for each in await self._over(tally):
            lock = self._locks.setdefault(each, asyncio.Lock())
            async with lock, self._places:
                await self._one(tally, each, on_begun)

    async def _over(self, tally: RunCounters) -> Sequence[str]:
        """Return the spaces of a run; what keeps some of them from being known is its trouble."""
        if tally.run.space is not None:
            return [tally.run.space]
        unseen = await self._sources.unseen()
        if unseen:
            tally.trouble(Failure(_WIKI, "", unseen, _SOURCE_CURE))
        return await self._sources.spaces()

    async def _one(self, tally: RunCounters, space: str, on_begun: Callable[[Run], None]) -> None:
        """Work on a space once no other process does."""
        pause = _LEASE_SECONDS
        while True:
            on_begun(tally.run)
            begun = tally.at(space)
            try:
                report = await self._work(space, tally, tally.run)
            except (RunInProgress, LedgerUnavailable):
                # Also a full disk is waited for: what was taken in is to be found in the end.
                tally.wait()
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
                continue
            except TooManyRemoved as error:
                await self._hold_back(tally, space, error)
            except (IngestionError, RagError) as error:
                tally.trouble(failure_of(space, "", str(error)))
            else:
                await self._note(tally, report, begun)
            return

    async def _note(self, tally: RunCounters, report: Report, begun: datetime) -> None:
        tally.take(report)
        if not report.dry_run:
            await record_report(self._ledger, report, begun)

    async def _hold_back(self, tally: RunCounters, space: str, error: TooManyRemoved) -> None:
        why = removal_refused(space, str(error))
        tally.trouble(why)
        log.error("reindex.held_back", run=tally.run.id, space=space, why=why.reason)
        if self._on_held_back is None:
            return
        try:
            await self._on_held_back(space, why.reason)
        except Exception:
            # It is in the run and in the log all the same.
            log.exception("reindex.not_told", space=space)


_INTERNAL_ERROR = "something broke on our side; it is in the log"
AT_START = "start"
"""Who begins what a start has to mend."""


class Runs:
    """The runs of this process; what it tells are those of all.

    Args:
        ledger: where runs are told.
        sources: what can be read.
        work: what a run does with each space.
        on_held_back: who is told when a run holds back.
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
        self._running = SpaceExecutor(ledger, sources, work, on_held_back)
        self._telling = ProgressLog(ledger)
        self._adopting = Takeover(ledger)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._waiting: dict[RunScope, str] = {}
        self._ordering = asyncio.Lock()
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
        """Begin a run over a space or all, or over one page by address or id; return its id.

        A run over one page is not refused for another's sake: it waits for the space.

        Raises:
            DocumentUnknown: it is not known what fills the space, or which space the page is in.
            DocumentInTheWay: another run is over the space.
            SourceUnavailable: what fills the space can't be asked now.
        """
        if page:
            space, extent = space or await self._space_with(page), "page"
        if space is not None:
            await self._sources.of(space)
        run = _new(space, by, extent, page, dry_run=dry_run)
        async with self._ordering:
            await self._refuse_second(run)
            return await self._begin(replace(run, allow_mass_delete=allow_mass_delete))

    async def find_space(self, url: str) -> str | None:
        """Return the space of the page at an address, indexed or not; None for none of ours.

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
        """See to it that a space is read once more; a run that only waits will do.

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
            # What was never begun is nobody's to join.
            self._forget_waiting(run)
            raise

    async def busy(self, space: str) -> bool:
        """Tell whether a run is over a space now, in any process."""
        return any(_overlap(run.space, space) for run in await self._ledger.active())

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
        known = sorted(await self._sources.spaces())
        adopted = await self._adopting.adopted(known)
        allowed, begun = adopted.allowed, dict[RunScope, str]()
        for each in adopted.beyond(space for space in known if space in spaces):
            space, extent, page = each
            begun[each] = await self.request(
                space, by=AT_START, allow_mass_delete=each in allowed, extent=extent, page=page
            )
        await self._adopting.settle(adopted, begun)

    async def settled(self) -> None:
        """Wait until nothing is under way in this process."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def stop(self) -> None:
        """Interrupt what is under way; the next start resumes it."""
        self._stopping = True
        self._telling.stop()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _space_with(self, page: str) -> str:
        space = await self._sources.space_of(page)
        if space is None:
            raise DocumentUnknown(
                f"No page that can be read is at {shortened(page)}. Look at the address, and "
                "whether its space is one that is read."
            )
        return space

    async def _refuse_second(self, run: Run) -> None:
        if run.dry_run or run.page:
            return
        for other in await self._ledger.active():
            if not (other.dry_run or other.page) and _overlap(other.space, run.space):
                told = f"the space {other.space!r}" if other.space else "all spaces"
                raise DocumentInTheWay(
                    f"A run over {told} is under way. Wait until it ends, or cancel it."
                )

    async def _begin(self, run: Run) -> str:
        await self._ledger.begin(run)
        task = asyncio.create_task(self._run(RunCounters(run)))
        self._tasks[run.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(run.id, None))
        return run.id

    async def _run(self, tally: RunCounters) -> None:
        telling = asyncio.create_task(self._telling.follow(tally, asyncio.current_task()))
        state: State = "failed"
        try:
            await self._running.all(tally, self._forget_waiting)
            state = "failed" if tally.broken else "done"
        except asyncio.CancelledError:
            state = "interrupted" if self._stopping else "cancelled"
        except Exception:
            log.exception("reindex.failed", run=tally.run.id)
            tally.trouble(failure_of(tally.run.at_space, "", _INTERNAL_ERROR))
        finally:
            telling.cancel()
            # Who cancels twice must not keep the end from being told.
            await asyncio.shield(self._end(tally, state))

    async def _end(self, tally: RunCounters, state: State) -> None:
        self._forget_waiting(tally.run)
        if state == "interrupted":
            # Left as it is: the next start finds it without an owner, and resumes it.
            return
        run = tally.ended(state)
        await self._telling.end(run)
        log.info("reindex.ended", run=run.id, space=run.space, state=state, chunks=run.chunks)

    def _forget_waiting(self, run: Run) -> None:
        """From now on a change of the space needs another run."""
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

"""What a run does: space after space brought up to date, waiting where another run works."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import structlog

from ingestion.errors import IngestionError, LedgerUnavailable, RunInProgress, TooManyRemoved
from ingestion.ports import Progress
from ingestion.records.ledger import Ledger
from ingestion.records.types import Failure, Run
from ingestion.sources import Sources, note_report
from ingestion.tally import Tally, failure, held_back
from ingestion.types import Report
from rag.errors import RagError

log = structlog.get_logger(__name__)

SyncSpace = Callable[[str, Progress, Run], Awaitable[Report]]
"""Brings a space up to date with its source. Raises as ingestion.run.sync_source."""

HeldBack = Callable[[str, str], Awaitable[None]]
"""Is told of a space whose run held back, and why: too much of it, or all, is gone."""

_AT_ONCE = 2
_LEASE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 5.0
_CURE = "Mend that (python -m ingestion doctor tries it), and reindex all."
_WIKI = "Confluence"
"""Stands for the space where it can't be asked which there are."""


class Running:
    """The spaces that this process works on: each by one run at a time, two at once.

    Args:
        ledger: Where it is noted when a space was brought up to date.
        sources: What can be read.
        work: What is done with each space.
        on_held_back: Who is told when a run holds back.
    """

    def __init__(
        self, ledger: Ledger, sources: Sources, work: SyncSpace, on_held_back: HeldBack | None
    ) -> None:
        self._ledger = ledger
        self._sources = sources
        self._work = work
        self._on_held_back = on_held_back
        self._locks: dict[str, asyncio.Lock] = {}
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def all(self, tally: Tally, on_begun: Callable[[Run], None]) -> None:
        """Work on what a run is over; what goes wrong with a space is in the tally.

        ``on_begun`` is called each time a source is about to be read.
        """
        for each in await self._over(tally):
            lock = self._locks.setdefault(each, asyncio.Lock())
            async with lock, self._places:
                await self._one(tally, each, on_begun)

    async def _over(self, tally: Tally) -> Sequence[str]:
        """Return the spaces of a run; what keeps some of them from being known is its trouble."""
        if tally.run.space is not None:
            return [tally.run.space]
        unseen = await self._sources.unseen()
        if unseen:
            tally.trouble(Failure(_WIKI, "", unseen, _CURE))
        return await self._sources.spaces()

    async def _one(self, tally: Tally, space: str, on_begun: Callable[[Run], None]) -> None:
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
                tally.trouble(failure(space, "", str(error)))
            else:
                await self._note(tally, report, begun)
            return

    async def _note(self, tally: Tally, report: Report, begun: datetime) -> None:
        tally.take(report)
        if not report.dry_run:
            await note_report(self._ledger, report, begun)

    async def _hold_back(self, tally: Tally, space: str, error: TooManyRemoved) -> None:
        why = held_back(space, str(error))
        tally.trouble(why)
        log.error("reindex.held_back", run=tally.run.id, space=space, why=why.reason)
        if self._on_held_back is None:
            return
        try:
            await self._on_held_back(space, why.reason)
        except Exception:
            # It is in the run and in the log all the same.
            log.exception("reindex.not_told", space=space)

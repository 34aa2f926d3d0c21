"""Keeps in the ledger how far a run is, and its end."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from ingestion.errors import LedgerUnavailable
from ingestion.records.ledger import Ledger
from ingestion.records.types import Run
from ingestion.tally import Tally

log = structlog.get_logger(__name__)

BY_SCHEDULE = "schedule"
"""Who begins what is due. Runs of the schedule that find nothing are not kept."""
_WRITE_SECONDS = 0.5


class Telling:
    """Tells of the runs of one process, until it is stopped."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._stopped = False

    def stop(self) -> None:
        """Insist on no end any more: the next start finds what was not told."""
        self._stopped = True

    async def follow(self, tally: Tally, working: asyncio.Task[None] | None) -> None:
        """Keep the ledger up to date, and look whether somebody wants the run to stop."""
        while True:
            await asyncio.sleep(_WRITE_SECONDS)
            with suppress(LedgerUnavailable):
                if await self._ledger.write(tally.now()) and working is not None:
                    working.cancel()
                    return

    async def end(self, run: Run) -> None:
        """Write it until it is kept: until then the run stands in the way of the next."""
        said = False
        while not self._stopped:
            try:
                await self._keep_end(run)
            except LedgerUnavailable as error:
                if not said:
                    log.error("reindex.untold", run=run.id, why=str(error))  # noqa: TRY400
                said = True
                await asyncio.sleep(_WRITE_SECONDS)
            else:
                return

    async def _keep_end(self, run: Run) -> None:
        if run.by == BY_SCHEDULE and not run.eventful:
            # Every few minutes one over each space: they would drown what people began.
            await self._ledger.drop(run.id)
        else:
            await self._ledger.write(run)

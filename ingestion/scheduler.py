"""Begins the passes that are due; of several replicas one begins each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import structlog

from ingestion.errors import DocumentRefused, SourceUnavailable
from ingestion.records.opening import Records
from ingestion.runs import Runs
from ingestion.schedule import Cadence, Due, Next, due, upcoming
from ingestion.telling import BY_SCHEDULE
from ingestion.types import Extent

log = structlog.get_logger(__name__)

_LOOKED_AT = 200
_MOST_AT_ONCE = 8
"""So many runs of the schedule wait or work at a time, on all replicas together."""


class Scheduler:
    """Driven from outside: whoever looks after the server calls ``begin_due`` now and then.

    Args:
        runs: What begins a run.
        records: When passes were begun, and what came of them.
        spaces: What is read by schedule. Raises SourceUnavailable.
        cadence: How often.
    """

    def __init__(
        self,
        runs: Runs,
        records: Records,
        spaces: Callable[[], Awaitable[Sequence[str]]],
        cadence: Cadence,
    ) -> None:
        self._runs = runs
        self._records = records
        self._spaces = spaces
        self._cadence = cadence
        self.trouble = ""
        """Why it is not known which spaces there are, or ""."""
        self.known: tuple[str, ...] | None = None
        """The spaces that there were when they were last asked for."""

    async def begin_due(self) -> Sequence[str]:
        """Begin what is due; return the runs.

        Raises SourceUnavailable, LedgerUnavailable: the next call tries again.
        """
        if self._cadence.never:
            return ()
        active = await self._records.ledger.active()
        places = _MOST_AT_ONCE - sum(run.by == BY_SCHEDULE for run in active)
        begun: list[str] = []
        for each in await self._due():
            if len(begun) >= places:
                break
            run = await self._begin(each)
            begun += [run] if run else []
        return begun

    async def next_passes(self) -> Mapping[str, Next]:
        """Return the next pass over each space. Raises SourceUnavailable, LedgerUnavailable."""
        if self._cadence.never:
            return {}
        passes = await self._records.passes.begun()
        newest = await self._records.ledger.newest(_LOOKED_AT)
        broken = {run.id for run in newest if run.state == "failed"}
        return upcoming(
            await self._spaces(),
            begun=passes,
            failed=[key for key, each in passes.items() if each.run in broken],
            synced=await self._records.ledger.synced(),
            cadence=self._cadence,
            now=datetime.now(UTC),
        )

    async def _due(self) -> Sequence[Due]:
        passes = await self._records.passes.begun()
        find = partial(
            due,
            await self._known_spaces(),
            begun=passes,
            synced=await self._records.ledger.synced(),
            active=await self._records.ledger.active(),
            cadence=self._cadence,
            now=datetime.now(UTC),
        )
        over: list[tuple[str, Extent]] = [(one.space, one.extent) for one in find(failed=())]
        failed = [each for each in over if each in passes and await self._failed(passes[each].run)]
        return find(failed=failed)

    async def _known_spaces(self) -> Sequence[str]:
        try:
            spaces = await self._spaces()
        except SourceUnavailable as error:
            self.trouble = str(error)
            raise
        self.trouble, self.known = "", tuple(spaces)
        return spaces

    async def _failed(self, run_id: str) -> bool:
        run = await self._records.ledger.get(run_id) if run_id else None
        return run is not None and run.state == "failed"

    async def _begin(self, each: Due) -> str | None:
        passes = self._records.passes
        if not await passes.claim(
            each.space, each.extent, idle_seconds=each.idle_seconds, failures=each.failures
        ):
            return None
        try:
            run = await self._runs.start(each.space, by=BY_SCHEDULE, extent=each.extent)
        except (DocumentRefused, SourceUnavailable) as error:
            log.warning("schedule.not_begun", space=each.space, why=str(error))
            return None
        await passes.note_run(each.space, each.extent, run)
        return run

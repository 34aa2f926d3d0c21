"""Status of a reindex run, merged from the rows of all its resumptions, and watched to its end.

Runs are followed by their rows in the record, from any process and across restarts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bot.domain.errors import StoreUnavailable
from bot.domain.formatting import rough_duration
from bot.domain.texts import tr
from bot.observability.logs import LastingTrouble
from ingestion.records.types import Failure, Run, State
from ingestion.types import Extent

RunState = State | Literal["gone"]
"""interrupted: killed, and not resumed yet. gone: it can't be followed any more."""


GetRun = Callable[[str], Awaitable[Run | None]]
"""Returns a run of any process by its id. Raises StoreUnavailable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """Progress of a run, or its result.

    ``run_id`` is the requested one, also if the run was resumed under another. ``space`` None is
    all; ``extent`` is how much of it is covered, and ``page`` the one page's address or id.
    ``pages`` of ``total`` are done. ``remaining`` is in words, "" if unknown; ``resumed``: it was
    interrupted and goes on, and the figures count from then. ``troubles`` holds the first few of
    ``failed`` problems. ``note`` is a sentence for states without figures, ``embedding`` one on
    tokens and their price, or "".
    """

    run_id: str
    state: RunState
    space: str | None = None
    extent: Extent = "all"
    page: str = ""
    at_space: str = ""
    dry_run: bool = False
    pages: int = 0
    total: int = 0
    chunks: int = 0
    chunks_per_second: float = 0.0
    remaining: str = ""
    added: int = 0
    changed: int = 0
    removed: int = 0
    readers_changed: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    embedding: str = ""
    troubles: tuple[Failure, ...] = ()
    resumed: bool = False
    note: str = ""
    ended: bool = False


MOST_PROBLEMS = 5
"""Maximum number of problems reported."""

_PRECEDENCE: tuple[RunState, ...] = (
    "running",
    "waiting",
    "interrupted",
    "failed",
    "cancelled",
    "done",
)
_GONE = tr(
    "I no longer know this run. What it indexed is kept; the list of spaces shows the state."
)
_LOST = tr("I can't read the list of runs, so I don't know the progress. The run itself continues.")
_WAITS = tr("It was interrupted and continues when the indexing server is up again.")
_DRY = tr("It was interrupted. Nothing was changed; start the dry run again.")
_STAYS = tr(
    "It was interrupted and has not resumed. What was indexed is kept; start it again to continue."
)


def run_status_of(run_id: str, runs: Sequence[Run]) -> RunStatus:
    """Return the merged status of the runs that a run has become; "gone" without any."""
    if not runs:
        return RunStatus(run_id=run_id, state="gone", note=_GONE, ended=True)
    state = next(each for each in _PRECEDENCE if any(run.state == each for run in runs))
    working = next((run for run in runs if run.state == state), runs[0])
    failures = [failure for run in runs for failure in run.failures]
    status = RunStatus(
        run_id=run_id,
        state=state,
        space=working.space if len(runs) == 1 else None,
        extent=working.extent if len(runs) == 1 else "all",
        page=working.page if len(runs) == 1 else "",
        at_space=working.at_space,
        dry_run=any(run.dry_run for run in runs),
        pages=sum(run.pages for run in runs),
        total=sum(run.total for run in runs),
        chunks=sum(run.chunks for run in runs),
        chunks_per_second=_rate(runs),
        remaining=_remaining(runs),
        added=sum(run.added for run in runs),
        changed=sum(run.changed for run in runs),
        removed=sum(run.removed for run in runs),
        readers_changed=sum(run.readers_changed for run in runs),
        unchanged=sum(run.unchanged for run in runs),
        skipped=sum(run.skipped for run in runs),
        failed=sum(run.failed for run in runs),
        embedding=working.embedding if len(runs) == 1 else "",
        troubles=_problems(failures),
        ended=state not in {"running", "waiting", "interrupted"},
    )
    if state == "interrupted":
        # A dry run ends here, because it is not resumed.
        return replace(status, note=_DRY if status.dry_run else _WAITS, ended=status.dry_run)
    return status


def _rate(runs: Sequence[Run]) -> float:
    working = [run for run in runs if run.active and run.chunks] or [
        run for run in runs if run.chunks
    ]
    return round(sum(run.chunks_per_second for run in working), 1)


def _remaining(runs: Sequence[Run]) -> str:
    """Return the longest remaining time in words; "" while that of an active run is unknown."""
    seconds = [run.remaining_seconds for run in runs if run.active]
    known = [each for each in seconds if each is not None]
    return rough_duration(max(known)) if known and len(known) == len(seconds) else ""


def _problems(failures: Sequence[Failure]) -> tuple[Failure, ...]:
    """Return the first few problems; held-back deletions first, as an admin can allow them."""
    ordered = sorted(failures, key=lambda each: not each.mass_delete)
    return tuple(ordered[:MOST_PROBLEMS])


async def current_runs(
    run: Run, get_run: GetRun, seen: frozenset[str] = frozenset()
) -> tuple[Run, ...]:
    """Return the runs that a run has become: itself, or all that resumed it.

    Raises StoreUnavailable.
    """
    if run.state != "interrupted" or not run.resumed_as:
        return (run,)
    found: list[Run] = []
    for run_id in run.resumed_as:
        following = None if run_id in seen else await get_run(run_id)
        if following is not None:
            found += await current_runs(following, get_run, seen | {run.id, run_id})
    return tuple(found)


LOOK_SECONDS = 0.5
REPORT_SECONDS = 2.5
"""Minimum interval between reports of figures; a change of state is reported at once."""

PATIENCE_SECONDS = 600.0
"""How long to wait for an interrupted run to resume, or for unreadable rows."""


@dataclass(frozen=True, slots=True)
class RunWatcher:
    """Follows runs by their rows in the record, which all processes share.

    Args:
        get_run: Reads a run's row.
        pause: Sleeps for a number of seconds.
        clock: Monotonic clock, in seconds.
    """

    get_run: GetRun
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic

    async def follow(self, run_id: str) -> AsyncIterator[RunStatus]:
        """Yield a run's status at once, then on changes; the last one has ``ended`` set.

        Never raises: a run that can't be followed any longer ends with a ``note`` that explains it.
        """
        last, told_at, well_at = None, self.clock(), self.clock()
        trouble = LastingTrouble("orders.following")
        while True:
            status, now = await self._look(run_id, trouble), self.clock()
            if status is not None and status.state != "interrupted":
                well_at = now
            if now - well_at >= PATIENCE_SECONDS:
                lost = RunStatus(run_id=run_id, state="gone", note=_LOST, ended=True)
                status = lost if status is None else replace(status, note=_STAYS, ended=True)
            if status is not None and _worth_reporting(status, last, now - told_at):
                yield status
                last, told_at = status, now
                if status.ended:
                    return
            await self.pause(LOOK_SECONDS)

    async def _look(self, run_id: str, trouble: LastingTrouble) -> RunStatus | None:
        """Return a run's status; None while its rows can't be read."""
        try:
            first = await self.get_run(run_id)
            now = () if first is None else await current_runs(first, self.get_run)
        except StoreUnavailable as error:
            trouble.note(error)
            return None
        trouble.note(None)
        status = run_status_of(run_id, now)
        if first is None or not now or now == (first,):
            return status
        return replace(
            status, space=first.space, extent=first.extent, page=first.page, resumed=True
        )


def _worth_reporting(status: RunStatus, last: RunStatus | None, silent_seconds: float) -> bool:
    if last is None or status.ended or status.state != last.state or status.resumed != last.resumed:
        return True
    return status != last and silent_seconds >= REPORT_SECONDS

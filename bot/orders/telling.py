"""Rows of runs as one told run; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.documents.documents import Failure, Run
from bot.orders.told import RunState, RunTold, Trouble
from bot.rendering.amounts import about

MOST_TROUBLES = 5
"""So many troubles are told."""

_PRECEDENCE: tuple[RunState, ...] = (
    "running",
    "waiting",
    "interrupted",
    "failed",
    "cancelled",
    "done",
)
_GONE = "I don't know this run any more. What it wrote stays; the list of spaces says how it is."
_LOST = "I can't tell how far it is: the list of runs can't be read. The run itself goes on."
_WAITS = "It was interrupted, and goes on when the server that indexes is up again."
_DRY = "It was interrupted. Nothing was changed; order the dry run again."
_STAYS = "It was interrupted and has not gone on. What was written stays; order it again to go on."


def told_of(run_id: str, runs: Sequence[Run]) -> RunTold:
    """Return a run that was asked for, as the runs that it is by now; with none, it is gone."""
    if not runs:
        return RunTold(run_id=run_id, state="gone", note=_GONE, ended=True)
    state = next(each for each in _PRECEDENCE if any(run.state == each for run in runs))
    working = next((run for run in runs if run.state == state), runs[0])
    failures = [failure for run in runs for failure in run.failures]
    told = RunTold(
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
        troubles=_troubles(failures),
        ended=state not in {"running", "waiting", "interrupted"},
    )
    return _interrupted(told) if state == "interrupted" else told


def interrupted_for_good(told: RunTold) -> RunTold:
    """Return a run that nobody went on with, as its end."""
    return replace(told, note=_STAYS, ended=True)


def lost(run_id: str) -> RunTold:
    """Return a run that can't be read for long, as the end of following it."""
    return RunTold(run_id=run_id, state="gone", note=_LOST, ended=True)


def _interrupted(told: RunTold) -> RunTold:
    """A dry run is not gone on with, as it would tell nothing to those who come later."""
    return replace(told, note=_DRY if told.dry_run else _WAITS, ended=told.dry_run)


def _rate(runs: Sequence[Run]) -> float:
    working = [run for run in runs if run.active and run.chunks] or [
        run for run in runs if run.chunks
    ]
    return round(sum(run.chunks_per_second for run in working), 1)


def _remaining(runs: Sequence[Run]) -> str:
    """Return about how long the slowest still takes; "" while that of one is not known."""
    seconds = [run.remaining_seconds for run in runs if run.active]
    known = [each for each in seconds if each is not None]
    return about(max(known)) if known and len(known) == len(seconds) else ""


def _troubles(failures: Sequence[Failure]) -> tuple[Trouble, ...]:
    """Return the first few; what held a run back before all, for it can be allowed."""
    ordered = sorted(failures, key=lambda each: not each.mass_delete)
    return tuple(
        Trouble(each.space, each.page, each.reason, each.cure, each.mass_delete)
        for each in ordered[:MOST_TROUBLES]
    )

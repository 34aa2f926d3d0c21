"""``status`` and ``cancel``: what runs do in any process, and an end to one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime

from ingestion.commands.codes import REFUSED
from ingestion.commands.opened import kept_records
from ingestion.config import Settings
from ingestion.records.types import Run, Synced

_SHOWN = 20


async def show_status(_options: argparse.Namespace, settings: Settings) -> int:
    """Print the runs under way, the last ones, and since when each space is up to date."""
    with kept_records(settings) as records:
        active = await records.ledger.active()
        ended = [run for run in await records.ledger.newest(_SHOWN) if not run.active]
        synced = await records.ledger.synced()
    lines = [
        *_section("Under way", [_going(run) for run in active]),
        *_section("Spaces", _spaces(synced)),
        *_section("Last runs", [_ended(run) for run in ended]),
    ]
    print("\n".join(lines) or "Nothing was read yet. Begin: python -m ingestion sync --all")
    return 0


async def cancel_runs(options: argparse.Namespace, settings: Settings) -> int:
    """Ask for the end of a run, by its id or by the space that it is over."""
    with kept_records(settings) as records:
        active = await records.ledger.active()
        meant = [run for run in active if options.target in {run.id, run.space or "all"}]
        for run in meant:
            await records.ledger.cancel(run.id)
            print(f"The run {run.id} over {_over(run)} is being stopped. What was written stays.")
    if not meant:
        print(f"No run is under way over {options.target!r}, nor has this id.", file=sys.stderr)
        return REFUSED
    return 0


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _going(run: Run) -> str:
    left = run.remaining_seconds
    told = [
        f"{run.state}, {run.pages} of {run.total} pages",
        f"{run.chunks} chunks, {run.chunks_per_second:.0f} chunks/s",
        f"{run.failed} failed",
    ]
    if left is not None:
        told.append(f"{round(left) // 60}:{round(left) % 60:02d} left")
    return f"{run.id} {_over(run)}, by {run.by}: {', '.join(told)}{_embedding(run)}"


def _ended(run: Run) -> str:
    counts = (
        f"{run.added} added, {run.changed} changed, {run.removed} removed, "
        f"{run.readers_changed} with new readers, {run.failed} failed"
    )
    held = " It held back: too much was gone." if any(w.mass_delete for w in run.failures) else ""
    dry = ", dry run" if run.dry_run else ""
    when = _when(run.ended_at or run.created_at)
    return f"{when} {_over(run)}{dry}, by {run.by}: {run.state}; {counts}.{held}{_embedding(run)}"


def _embedding(run: Run) -> str:
    return f" {run.embedding}" if run.embedding else ""


def _spaces(synced: Mapping[str, Synced]) -> list[str]:
    return [
        f"{space}: looked at {_when(one.ended_at)}, whole "
        f"{_when(one.whole_at or one.started_at)}; {len(one.failures)} failures"
        for space, one in sorted(synced.items())
    ]


def _over(run: Run) -> str:
    if run.page:
        return f"page {run.page} of {run.space}"
    what = "all spaces" if run.space is None else run.space
    return f"changes of {what}" if run.extent == "changes" else what


def _when(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"

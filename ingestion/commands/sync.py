"""``sync``: spaces or one page up to date, by the same runs as a server's."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from ingestion.commands.codes import FAILED, REFUSED
from ingestion.commands.opened import kept_records
from ingestion.config import Settings
from ingestion.folder import LARGEST_FILE
from ingestion.opening import open_sources
from ingestion.ports import Progress, TellsUse
from ingestion.progress import progress_on
from ingestion.records.types import Run
from ingestion.report import report_lines
from ingestion.running import SyncSpace
from ingestion.runs import Runs
from ingestion.types import Report
from ingestion.workers import InProcesses
from rag.types import EmbeddingUse

BY = "command line"


async def sync_spaces(options: argparse.Namespace, settings: Settings) -> int:
    """Run over what is asked for, one space after the other, and print the reports."""
    with kept_records(settings) as records:
        work = InProcesses(settings.data_dir, settings.tenant, LARGEST_FILE, records.leases)
        try:
            async with open_sources(settings, records) as sources:
                reports: list[Report] = []
                runs = Runs(records.ledger, sources, _shown(work, reports))
                return await _each(runs, reports, options)
        finally:
            await work.close()


async def _each(runs: Runs, reports: list[Report], options: argparse.Namespace) -> int:
    codes = [0]
    spaces: Sequence[str | None] = options.spaces or [None]
    for space in spaces:
        run = await _ended(runs, space, options)
        for report in reports:
            print("\n".join(report_lines(report)))
        reports.clear()
        codes.append(_code(run))
    return max(codes)


async def _ended(runs: Runs, space: str | None, options: argparse.Namespace) -> Run:
    run_id = await runs.start(
        space,
        by=BY,
        dry_run=options.dry_run,
        allow_mass_delete=options.allow_mass_delete,
        extent="changes" if options.changes else "all",
        page=options.page or "",
    )
    try:
        await runs.settled()
    except asyncio.CancelledError:
        # Nobody resumes what was stopped by hand.
        await runs.cancel(run_id)
        raise
    run = await runs.get(run_id)
    if run is None:
        raise LookupError(run_id)
    return run


def _code(run: Run) -> int:
    """Print what went wrong with whole spaces; return the exit code."""
    if run.state == "cancelled":
        print("It was stopped. What was written stays; run again to go on.", file=sys.stderr)
        return FAILED
    of_spaces = [] if run.dry_run else [why for why in run.failures if not why.page]
    for why in of_spaces:
        cure = "Look what is missing; to let it go, run again with --allow-mass-delete."
        cure = cure if why.mass_delete else why.cure
        print(f"Space {why.space}: {why.reason.rstrip('.')}. {cure}", file=sys.stderr)
    if any(why.mass_delete for why in of_spaces):
        return REFUSED
    return FAILED if run.failed else 0


def _shown(work: SyncSpace, reports: list[Report]) -> SyncSpace:
    """Return work whose progress is shown here, too, and whose reports are kept."""

    async def shown(space: str, progress: Progress, run: Run) -> Report:
        report = await work(space, _Both(progress, progress_on(sys.stderr)), run)
        reports.append(report)
        return report

    return shown


class _Both:
    """Tells two who watch a run."""

    def __init__(self, *told: Progress) -> None:
        self._told = told

    def expect(self, pages: int, use: EmbeddingUse) -> None:
        for each in self._told:
            if isinstance(each, TellsUse):
                each.expect(pages, use)

    def begin(self, space: str, pages: int) -> None:
        for each in self._told:
            each.begin(space, pages)

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        for each in self._told:
            each.advance(pages=pages, chunks=chunks)

    def fail(self, page: str, reason: str) -> None:
        for each in self._told:
            each.fail(page, reason)

    def end(self) -> None:
        for each in self._told:
            each.end()

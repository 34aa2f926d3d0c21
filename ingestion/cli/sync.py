"""Run ``sync`` (spaces or one page) and ``folder`` (a folder of files into its space)."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from ingestion.cli import FAILED, REFUSED, open_embedder_or_warn, open_index, open_records
from ingestion.config import Settings
from ingestion.errors import SettingInvalid
from ingestion.folder import LARGEST_FILE
from ingestion.records.types import Run
from ingestion.runs.background import Runs, SyncSpace
from ingestion.runs.source_registry import open_sources, remember_folder
from ingestion.runs.worker_pool import WorkerPool
from ingestion.sync.report import progress_on, report_lines
from ingestion.sync.sync import Folder, source_of, sync_source
from ingestion.types import Progress, Report
from ingestion.uploads import Uploads
from rag.types import EmbeddingUse


async def sync_folder_now(options: argparse.Namespace, settings: Settings) -> int:
    """Sync a space with a folder, and record the folder as the space's source."""
    folder = Folder(options.path, options.space, options.readers, options.base_url)
    _refuse_uploads(options.space, settings)
    begun = datetime.now(UTC)
    with open_records(settings) as records:
        async with (
            open_embedder_or_warn(settings) as embedder,
            open_index(settings, embedder, write=not options.dry_run) as index,
        ):
            report = await sync_source(
                source_of(folder),
                index,
                embedder,
                tenant=settings.tenant,
                leases=records.leases,
                dry_run=options.dry_run,
                allow_mass_delete=options.allow_mass_delete,
                progress=progress_on(sys.stderr),
            )
        await remember_folder(records.ledger, folder, report, begun)
    print("\n".join(report_lines(report)))
    return FAILED if report.failed else 0


def _refuse_uploads(space: str, settings: Settings) -> None:
    if Uploads(settings.data_dir, settings.tenant).has(space):
        raise SettingInvalid(
            f"Space {space!r} is filled by uploads, and a folder would drop them. Choose another "
            "space for the folder."
        )


STARTED_BY = "command line"


async def sync_spaces(options: argparse.Namespace, settings: Settings) -> int:
    """Sync the requested spaces one after the other, and print the reports."""
    with open_records(settings) as records:
        work = WorkerPool(settings.data_dir, settings.tenant, LARGEST_FILE, records.leases)
        try:
            async with open_sources(settings, records) as sources:
                reports: list[Report] = []
                runs = Runs(records.ledger, sources, _work_with_progress(work, reports))
                return await _run_each(runs, reports, options)
        finally:
            await work.close()


async def _run_each(runs: Runs, reports: list[Report], options: argparse.Namespace) -> int:
    codes = [0]
    spaces: Sequence[str | None] = options.spaces or [None]
    for space in spaces:
        run = await _wait_for_end(runs, space, options)
        for report in reports:
            print("\n".join(report_lines(report)))
        reports.clear()
        codes.append(_exit_code(run))
    return max(codes)


async def _wait_for_end(runs: Runs, space: str | None, options: argparse.Namespace) -> Run:
    run_id = await runs.start(
        space,
        by=STARTED_BY,
        dry_run=options.dry_run,
        allow_mass_delete=options.allow_mass_delete,
        extent="changes" if options.changes else "all",
        page=options.page or "",
    )
    try:
        await runs.settled()
    except asyncio.CancelledError:
        # A run that was stopped by hand is not resumed.
        await runs.cancel(run_id)
        raise
    run = await runs.get(run_id)
    if run is None:
        raise LookupError(run_id)
    return run


def _exit_code(run: Run) -> int:
    """Print the errors of whole spaces; return the exit code."""
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


def _work_with_progress(work: SyncSpace, reports: list[Report]) -> SyncSpace:
    """Wrap sync work so that it shows progress on the terminal and keeps its reports."""

    async def shown(space: str, progress: Progress, run: Run) -> Report:
        report = await work(space, _BothProgress(progress, progress_on(sys.stderr)), run)
        reports.append(report)
        return report

    return shown


class _BothProgress:
    """Forwards the progress of a run to two observers."""

    def __init__(self, *told: Progress) -> None:
        self._told = told

    def begin(self, space: str, pages: int, use: EmbeddingUse | None = None) -> None:
        for each in self._told:
            each.begin(space, pages, use)

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        for each in self._told:
            each.advance(pages=pages, chunks=chunks)

    def fail(self, page: str, reason: str) -> None:
        for each in self._told:
            each.fail(page, reason)

    def end(self) -> None:
        for each in self._told:
            each.end()

"""Track runs in the ledger: counters, progress, failures, and taken-over runs of dead processes.

The sync state of a space after a run (its failures, its watermark, what to retry) is pure.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate

import structlog

from ingestion.embedding_usage import added_use
from ingestion.errors import LedgerUnavailable
from ingestion.records.ledger import Ledger
from ingestion.records.types import Failure, Retry, Run, State, Synced
from ingestion.types import Extent, Report
from rag.types import EmbeddingUse

MOST_FAILURES = 100
MOST_RETRIES = 500
"""Limit of failed pages retried by a pass over changes; more are left to the pass over
everything."""
TRIES = 5
"""A page that failed this often is left to the pass over everything: it must be repaired first."""


def synced_state_after(
    before: Synced | None,
    report: Report,
    failures: Sequence[Failure],
    begun: datetime,
    ended: datetime,
) -> Synced | None:
    """Return the sync state after a run; None until the space was read as a whole once.

    A run over one page changes only the state of that page. The watermark advances when all pages
    that failed will be retried.
    """
    if report.within is None:
        return Synced(
            begun,
            ended,
            tuple(failures),
            whole_at=begun,
            watermark=_watermark(before, report),
            again=_retries(before, report, ()),
        )
    if before is None:
        return None
    within = frozenset(report.within)
    kept = tuple(one for one in before.failures if not _is_within_run(one.page, within))
    again = tuple(one for one in before.again if not _is_within_run(one.page, within))
    one_page = report.extent == "page"
    return Synced(
        before.started_at if one_page else begun,
        before.ended_at if one_page else ended,
        (*kept, *failures)[:MOST_FAILURES],
        whole_at=before.whole_at,
        watermark=before.watermark if one_page else _watermark(before, report),
        again=_retries(before, report, again),
    )


def pages_to_retry(synced: Synced | None) -> tuple[str, ...]:
    """Return the pages that the next pass over changes retries, changed or not."""
    if synced is None:
        return ()
    return tuple(one.page for one in synced.again if one.tries < TRIES)


def _watermark(before: Synced | None, report: Report) -> str:
    if len(report.failed) > MOST_RETRIES and report.within is not None and before is not None:
        return before.watermark
    return report.watermark


def _retries(before: Synced | None, report: Report, kept: tuple[Retry, ...]) -> tuple[Retry, ...]:
    tries = {one.page: one.tries for one in before.again} if before else {}
    failed = dict.fromkeys(one.page for one in report.failed if not one.page.endswith("/"))
    again = (*kept, *(Retry(page, tries.get(page, 0) + 1) for page in failed))
    return again[:MOST_RETRIES]


def _is_within_run(page: str, within: Collection[str]) -> bool:
    return any(part in within for part in accumulate(page.split("/"), "{}/{}".format))


_DOCUMENT_CURE = "Repair or remove the file, then reindex."
_RETRY_CURE = "The next run tries again. If it keeps failing, fix what is named here."
_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_REMOVAL_CURE = (
    "If they should be removed, reindex again and allow it; otherwise repair the source."
)


class RunCounters:
    """Counts the progress of one run; ``broken`` once a space failed. Implements ``Progress``."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.broken = False
        self._begun: float | None = None

    def enter(self, space: str) -> datetime:
        """Record that the run now works on a space; return the time."""
        now = datetime.now(UTC)
        started = self.run.started_at or now
        self.run = replace(self.run, state="running", at_space=space, started_at=started)
        return now

    def wait(self) -> None:
        """Record that the run waits for another process's space."""
        self.run = replace(self.run, state="waiting")

    def begin(self, space: str, pages: int, use: EmbeddingUse | None = None) -> None:
        """Add a space's pages and estimated usage to those of the spaces before."""
        self._begun = self._begun or time.monotonic()
        if pages:
            self.run = replace(self.run, expected=added_use(self.run.expected, use))
        self.run = replace(self.run, at_space=space, total=self.run.total + pages)

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        run = self.run
        self.run = replace(run, pages=run.pages + pages, chunks=run.chunks + chunks)

    def fail(self, page: str, reason: str) -> None:
        self._add(failure_of(self.run.at_space, page, reason))

    def end(self) -> None: ...

    def add_broken_space(self, why: Failure) -> None:
        """Record that a whole space could not be read."""
        self.broken = True
        self._add(why)

    def add_report(self, report: Report) -> None:
        """Add a space's report."""
        if report.dry_run:
            for one in report.failed:
                self._add(failure_of(report.space, one.page, one.reason))
            if report.would_stop:
                self._list(
                    removal_refused(report.space, f"A real run would stop: {report.would_stop}")
                )
        run = self.run
        self.run = replace(
            run,
            added=run.added + len(report.added),
            changed=run.changed + len(report.changed),
            removed=run.removed + len(report.removed),
            readers_changed=run.readers_changed + len(report.readers_changed),
            unchanged=run.unchanged + report.unchanged,
            skipped=run.skipped + len(report.skipped),
            use=added_use(run.use, report.use),
        )

    def now(self) -> Run:
        """Return the current state of the run."""
        if self._begun is not None:
            seconds = round(time.monotonic() - self._begun, 3)
            self.run = replace(self.run, working_seconds=seconds)
        return self.run

    def ended(self, state: State) -> Run:
        """Return the run in its final state."""
        self.run = replace(self.now(), state=state, ended_at=datetime.now(UTC), at_space="")
        return self.run

    def _add(self, why: Failure) -> None:
        self._list(why)
        self.run = replace(self.run, failed=self.run.failed + 1)

    def _list(self, why: Failure) -> None:
        failures = (*self.run.failures, why)[:MOST_FAILURES]
        self.run = replace(self.run, failures=failures)


def failures_of(report: Report) -> tuple[Failure, ...]:
    """Return the first failures of a report."""
    failed = report.failed[:MOST_FAILURES]
    return tuple(failure_of(report.space, one.page, one.reason) for one in failed)


def removal_refused(space: str, why: str) -> Failure:
    """Return the failure of a run that refuses a mass deletion; ``why`` ends with CLI advice."""
    return Failure(space, "", why.partition(" If they are")[0], _REMOVAL_CURE, mass_delete=True)


def failure_of(space: str, page: str, reason: str) -> Failure:
    """Return a failure, its reason split into message and remedy.

    Reasons of documents are fragments with the remedy after a semicolon. Errors of sources are
    sentences, with the remedy after the first one.
    """
    if reason.endswith("."):
        why, *cure = _SENTENCES.split(reason, maxsplit=1)
        return Failure(space, page, why.rstrip("."), cure[0] if cure else _RETRY_CURE)
    why, _, after = reason.partition("; ")
    return Failure(
        space, page, why, f"{after[:1].upper()}{after[1:]}." if after else _DOCUMENT_CURE
    )


log = structlog.get_logger(__name__)

BY_SCHEDULE = "schedule"
"""Initiator (``Run.by``) of scheduled runs; those that find nothing are not stored."""
_WRITE_SECONDS = 0.5


class ProgressLog:
    """Writes the progress of one process's runs to the ledger, until it is stopped."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._stopped = False

    def stop(self) -> None:
        """Stop retrying writes of run ends: the next start recovers what was not written."""
        self._stopped = True

    async def follow(self, counters: RunCounters, working: asyncio.Task[None] | None) -> None:
        """Write the run's progress to the ledger, and cancel the run when that is requested."""
        while True:
            await asyncio.sleep(_WRITE_SECONDS)
            with suppress(LedgerUnavailable):
                if await self._ledger.write(counters.now()) and working is not None:
                    working.cancel()
                    return

    async def end(self, run: Run) -> None:
        """Write the end of a run, retrying until stored: an active run blocks the next."""
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
            # Scheduled runs over each space every few minutes would bury those that people started.
            await self._ledger.drop(run.id)
        else:
            await self._ledger.write(run)


RunScope = tuple[str, Extent, str]
"""Space, extent and page that a run covers."""


@dataclass(frozen=True, slots=True)
class TakenOverRuns:
    """Runs that were taken over, and the scopes that must be read again."""

    runs: Sequence[Run]
    over: Mapping[str, Sequence[RunScope]]

    @property
    def allowed(self) -> frozenset[RunScope]:
        """Return the scopes for which somebody had allowed a mass deletion."""
        runs = [run for run in self.runs if run.allow_mass_delete]
        return frozenset(each for run in runs for each in self.over[run.id])

    def beyond(self, whole: Iterable[str]) -> Sequence[RunScope]:
        """Return all scopes to be read, each once: these spaces, then those of the runs."""
        first: list[RunScope] = [(space, "all", "") for space in whole]
        return list(
            dict.fromkeys((*first, *(one for again in self.over.values() for one in again)))
        )


class Takeover:
    """Takes over interrupted runs, which stay this process's own even if resuming them fails."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._taken: dict[str, Run] = {}

    async def adopted(self, known: Sequence[str]) -> TakenOverRuns:
        """Take over interrupted runs; ``known`` are the spaces that can be read."""
        self._taken |= {run.id: run for run in await self._ledger.interrupted()}
        runs = list(self._taken.values())
        return TakenOverRuns(runs, {run.id: _reread_extent(run, known) for run in runs})

    async def settle(self, adopted: TakenOverRuns, begun: Mapping[RunScope, str]) -> None:
        """Mark the runs as resumed; if interrupted before that, the next start resumes them."""
        if not adopted.runs:
            return
        await self._ledger.settle(
            [
                replace(run, resumed_as=tuple(begun[each] for each in adopted.over[run.id]))
                for run in adopted.runs
            ]
        )
        for run in adopted.runs:
            self._taken.pop(run.id, None)


def _reread_extent(run: Run, known: Sequence[str]) -> Sequence[RunScope]:
    if run.dry_run or run.state == "cancelled":
        return ()
    return [(space, run.extent, run.page) for space in known if run.space in {None, space}]

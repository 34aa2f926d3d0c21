"""Counts how far a run is, for those who watch it."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import UTC, datetime

from ingestion.embedding_use import together
from ingestion.records.noting import MOST_FAILURES
from ingestion.records.types import Failure, Run, State
from ingestion.types import Report
from rag.types import EmbeddingUse

_LOOK = "Look at the file, mend or remove it, and reindex."
_AGAIN = "It is tried again by the next run; if it stays so, see to what is named here."
_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_MEANT = "If they are meant to go, reindex once more and allow it; else mend the source."


class Tally:
    """Implements ingestion.ports.Progress for one run; ``broken`` once a space failed."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.broken = False
        self._begun: float | None = None

    def at(self, space: str) -> datetime:
        """Note that the run works on a space from now on; return when that is."""
        now = datetime.now(UTC)
        started = self.run.started_at or now
        self.run = replace(self.run, state="running", at_space=space, started_at=started)
        return now

    def wait(self) -> None:
        """Note that another process has the space."""
        self.run = replace(self.run, state="waiting")

    def expect(self, pages: int, use: EmbeddingUse) -> None:
        """Note what is thought to be needed for a space, beside what spaces before it were."""
        if pages:
            self.run = replace(self.run, expected=together(self.run.expected, use))

    def begin(self, space: str, pages: int) -> None:
        self._begun = self._begun or time.monotonic()
        self.run = replace(self.run, at_space=space, total=self.run.total + pages)

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        run = self.run
        self.run = replace(run, pages=run.pages + pages, chunks=run.chunks + chunks)

    def fail(self, page: str, reason: str) -> None:
        self._add(failure(self.run.at_space, page, reason))

    def end(self) -> None: ...

    def trouble(self, why: Failure) -> None:
        """Note that a whole space could not be read."""
        self.broken = True
        self._add(why)

    def take(self, report: Report) -> None:
        """Add a space's report."""
        if report.dry_run:
            for one in report.failed:
                self._add(failure(report.space, one.page, one.reason))
            if report.would_stop:
                self._list(held_back(report.space, f"A real run would stop: {report.would_stop}"))
        run = self.run
        self.run = replace(
            run,
            added=run.added + len(report.added),
            changed=run.changed + len(report.changed),
            removed=run.removed + len(report.removed),
            readers_changed=run.readers_changed + len(report.readers_changed),
            unchanged=run.unchanged + report.unchanged,
            skipped=run.skipped + len(report.skipped),
            use=together(run.use, report.use),
        )

    def now(self) -> Run:
        """Return the run as it is now."""
        if self._begun is not None:
            seconds = round(time.monotonic() - self._begun, 3)
            self.run = replace(self.run, working_seconds=seconds)
        return self.run

    def ended(self, state: State) -> Run:
        """Return the run as it is now, and will be."""
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
    return tuple(failure(report.space, one.page, one.reason) for one in failed)


def held_back(space: str, why: str) -> Failure:
    """Return a run's refusal to remove so much; ``why`` ends with words for the command line."""
    return Failure(space, "", why.partition(" If they are")[0], _MEANT, mass_delete=True)


def failure(space: str, page: str, reason: str) -> Failure:
    """Return a failure.

    Reasons of documents are no whole sentences, and have their cure after a semicolon. What is
    wrong with where they come from is told in sentences, the cure after the first one.
    """
    if reason.endswith("."):
        why, *cure = _SENTENCES.split(reason, maxsplit=1)
        return Failure(space, page, why.rstrip("."), cure[0] if cure else _AGAIN)
    why, _, after = reason.partition("; ")
    return Failure(space, page, why, f"{after[:1].upper()}{after[1:]}." if after else _LOOK)

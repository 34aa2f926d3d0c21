"""Show a run's progress on a terminal or in a log, and format its report."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NoReturn, TextIO

from tqdm import tqdm

from ingestion.embedding_usage import use_line
from ingestion.sync.pipeline import WriteResult
from ingestion.types import Extent, Finding, Listing, Plan, Progress, Report
from rag.types import EmbeddingUse

_FORMAT = "{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} pages{postfix}, {remaining} left"
_SECONDS_BETWEEN_LINES = 5.0


class NoProgress:
    """Ignores all progress."""

    def begin(self, space: str, pages: int, use: EmbeddingUse | None = None) -> None: ...

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None: ...

    def fail(self, page: str, reason: str) -> None: ...

    def end(self) -> None: ...


class ProgressBar:
    """Shows progress as one line that redraws itself."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: tqdm[NoReturn] | None = None
        self._chunks = 0
        self._started = 0.0

    def begin(self, space: str, pages: int, use: EmbeddingUse | None = None) -> None:
        _print_expected_use(self._stream, pages, use)
        self._chunks, self._started = 0, time.monotonic()
        if pages:
            self._bar = tqdm(
                total=pages, desc=space, file=self._stream, bar_format=_FORMAT, leave=False
            )

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        if self._bar is None:
            return
        self._chunks += chunks
        rate = self._chunks / max(time.monotonic() - self._started, 0.001)
        self._bar.set_postfix_str(f"{self._chunks} chunks, {rate:.0f} chunks/s", refresh=False)
        self._bar.update(pages)

    def fail(self, page: str, reason: str) -> None: ...

    def end(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class ProgressLines:
    """Shows progress as a line every few seconds, for logs."""

    def __init__(self, stream: TextIO, seconds: float = _SECONDS_BETWEEN_LINES) -> None:
        self._stream = stream
        self._seconds = seconds
        self._space = ""
        self._total = self._pages = self._chunks = 0
        self._started = self._last = 0.0

    def begin(self, space: str, pages: int, use: EmbeddingUse | None = None) -> None:
        _print_expected_use(self._stream, pages, use)
        self._space, self._total, self._pages, self._chunks = space, pages, 0, 0
        self._started = self._last = time.monotonic()

    def advance(self, *, pages: int = 0, chunks: int = 0) -> None:
        self._pages += pages
        self._chunks += chunks
        now = time.monotonic()
        if now - self._last >= self._seconds:
            self._last = now
            print(self._line(now - self._started), file=self._stream, flush=True)

    def fail(self, page: str, reason: str) -> None: ...

    def end(self) -> None: ...

    def _line(self, elapsed: float) -> str:
        rate = self._chunks / max(elapsed, 0.001)
        line = (
            f"{self._space}: {self._pages}/{self._total} pages, "
            f"{self._chunks} chunks, {rate:.0f} chunks/s"
        )
        if self._pages:
            left = round(elapsed / self._pages * (self._total - self._pages))
            line += f", {left // 60}:{left % 60:02d} left"
        return line


def _print_expected_use(stream: TextIO, pages: int, use: EmbeddingUse | None) -> None:
    line = use_line(use, pages=pages, dry_run=True)
    if line:
        print(line, file=stream, flush=True)


def progress_on(stream: TextIO) -> Progress:
    """Return the progress display that fits a stream."""
    return ProgressBar(stream) if stream.isatty() else ProgressLines(stream)


NO_EMBEDDER = "No embedder: pages are found by their words alone, not by their meaning."


@dataclass(frozen=True, slots=True)
class ReportBuilder:
    """Builds a run's report."""

    space: str
    extent: Extent
    listing: Listing
    plan: Plan
    started: float
    embeds: bool

    def planned(self, would_stop: str) -> Report:
        """Return the report of a dry run."""
        return replace(
            self._report((), ()),
            dry_run=True,
            would_stop=would_stop,
            warnings=_warnings(would_stop, embeds=self.embeds),
        )

    def done(self, written: WriteResult) -> Report:
        """Return the report of a complete run."""
        return replace(
            self._report(written.failed, written.notes),
            chunks=written.chunks,
            embedded=written.embedded,
        )

    def _report(self, failed: Sequence[Finding], notes: Sequence[Finding]) -> Report:
        listing, plan = self.listing, self.plan
        broken = {finding.page for finding in failed}
        every_note = dict.fromkeys((*listing.notes, *notes))
        return Report(
            space=self.space,
            added=tuple(page.id for page in plan.added if page.id not in broken),
            changed=tuple(page.id for page in plan.changed if page.id not in broken),
            readers_changed=tuple(page.id for page in plan.readers_changed),
            removed=plan.removed,
            unchanged=plan.unchanged,
            for_nobody=sum(not page.readers for page in listing.pages),
            skipped=listing.skipped,
            failed=(*listing.failed, *failed),
            notes=tuple(sorted(every_note, key=lambda note: note.page)),
            seconds=time.monotonic() - self.started,
            warnings=_warnings("", embeds=self.embeds),
            extent=self.extent,
            watermark=listing.watermark,
            within=listing.within,
        )


def _warnings(would_stop: str, *, embeds: bool) -> tuple[str, ...]:
    warnings = [] if embeds else [NO_EMBEDDER]
    if would_stop:
        warnings.append(f"A real run would stop: {would_stop}")
    return tuple(warnings)


_MOST_NAMED = 10


def report_lines(report: Report) -> list[str]:
    """Format what a run did, or would do, with the reason for each page that was left out."""
    verb = "would be " if report.dry_run else ""
    counts = [
        f"{len(report.added)} added",
        f"{len(report.changed)} changed",
        f"{len(report.removed)} removed",
        f"{len(report.readers_changed)} with new readers",
        f"{report.unchanged} unchanged",
        f"{len(report.skipped)} skipped",
        f"{len(report.failed)} failed",
    ]
    lines = [f"Space {report.space}: {verb}{', '.join(counts)}."]
    if report.for_nobody:
        are = "page is" if report.for_nobody == 1 else "pages are"
        lines.append(f"{report.for_nobody} {are} readable by nobody.")
    if not report.dry_run:
        lines.append(_work(report))
    to_write = len(report.added) + len(report.changed)
    lines += filter(None, [use_line(report.use, pages=to_write, dry_run=report.dry_run)])
    for name, pages in (
        ("Added", report.added),
        ("Changed", report.changed),
        ("Removed", report.removed),
        ("New readers", report.readers_changed),
    ):
        lines += _named(name, pages)
    lines += _findings("Skipped", report.skipped)
    lines += _findings("Failed", report.failed)
    lines += _findings("Note", report.notes)
    return lines + [f"Warning: {warning}" for warning in report.warnings]


def _work(report: Report) -> str:
    rate = report.chunks / report.seconds if report.seconds else 0.0
    return (
        f"{report.chunks} chunks written, {report.embedded} embedded, "
        f"in {report.seconds:.1f} s ({rate:.0f} chunks/s)."
    )


def _named(name: str, pages: Sequence[str]) -> list[str]:
    if not pages:
        return []
    more = f" and {len(pages) - _MOST_NAMED} more" if len(pages) > _MOST_NAMED else ""
    return [f"{name}: {', '.join(_printable(page) for page in pages[:_MOST_NAMED])}{more}"]


def _findings(name: str, findings: Iterable[Finding]) -> list[str]:
    """Format one line per finding; many with the same reason share a line."""
    lines = []
    ordered = sorted(findings, key=lambda finding: (finding.reason, finding.page))
    for reason, group in groupby(ordered, key=lambda finding: finding.reason):
        pages = [finding.page for finding in group]
        if len(pages) <= _MOST_NAMED:
            lines += [f"{name}: {_printable(page)}: {reason}" for page in pages]
        else:
            shown = ", ".join(_printable(page) for page in pages[:_MOST_NAMED])
            more = len(pages) - _MOST_NAMED
            lines.append(f"{name}: {len(pages)} pages: {reason}: {shown} and {more} more")
    return lines


def _printable(page: str) -> str:
    """Escape a file name, which may contain anything, even line breaks."""
    return page if page.isprintable() else repr(page)

"""A report as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from ingestion.embedding_use import use_line
from ingestion.types import Finding, Report

_MOST_NAMED = 10


def report_lines(report: Report) -> list[str]:
    """Return what a run did, or would do, with the reason for each page that was left out."""
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
    return [f"{name}: {', '.join(_shown(page) for page in pages[:_MOST_NAMED])}{more}"]


def _findings(name: str, findings: Iterable[Finding]) -> list[str]:
    """One line a finding; many with one reason share a line."""
    lines = []
    ordered = sorted(findings, key=lambda finding: (finding.reason, finding.page))
    for reason, group in groupby(ordered, key=lambda finding: finding.reason):
        pages = [finding.page for finding in group]
        if len(pages) <= _MOST_NAMED:
            lines += [f"{name}: {_shown(page)}: {reason}" for page in pages]
        else:
            shown = ", ".join(_shown(page) for page in pages[:_MOST_NAMED])
            more = len(pages) - _MOST_NAMED
            lines.append(f"{name}: {len(pages)} pages: {reason}: {shown} and {more} more")
    return lines


def _shown(page: str) -> str:
    """A file name may hold anything, even line ends."""
    return page if page.isprintable() else repr(page)

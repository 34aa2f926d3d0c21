from __future__ import annotations

from ingestion.sync.report import report_lines
from ingestion.types import Finding, Report


def test_a_report_tells_counts_work_and_reasons() -> None:
    counts = "1 added, 1 changed, 1 removed, 1 with new readers, 4 unchanged, 1 skipped, 1 failed"
    lines = report_lines(
        Report(
            space="HR",
            added=("a.md",),
            changed=("b.md",),
            removed=("c.md",),
            readers_changed=("d.md",),
            unchanged=4,
            skipped=(Finding("x.png", "files of type .png are not read"),),
            failed=(Finding("y.pdf", "is encrypted"),),
            notes=(Finding("a.md", "not UTF-8"),),
            chunks=10,
            embedded=10,
            seconds=2.0,
            warnings=("No embedder",),
        )
    )

    assert lines == [
        f"Space HR: {counts}.",
        "10 chunks written, 10 embedded, in 2.0 s (5 chunks/s).",
        "Added: a.md",
        "Changed: b.md",
        "Removed: c.md",
        "New readers: d.md",
        "Skipped: x.png: files of type .png are not read",
        "Failed: y.pdf: is encrypted",
        "Note: a.md: not UTF-8",
        "Warning: No embedder",
    ]


def test_many_findings_with_one_reason_share_a_line() -> None:
    skipped = tuple(Finding(f"{number:02}.png", "no") for number in range(12))

    lines = report_lines(Report(space="HR", added=("a",) * 12, skipped=skipped))

    assert lines[2].endswith("a and 2 more")
    assert lines[3].startswith("Skipped: 12 pages: no: 00.png, 01.png")
    assert lines[3].endswith("09.png and 2 more")


def test_a_dry_run_says_would() -> None:
    counts, *names = report_lines(Report(space="HR", added=("a",), dry_run=True))

    assert counts.startswith("Space HR: would be 1 added, 0 changed, ")
    assert names == ["Added: a"]


def test_a_name_cannot_forge_a_line() -> None:
    (line,) = report_lines(Report(space="HR", failed=(Finding("a\nFailed: b", "x"),)))[2:]

    assert line == "Failed: 'a\\nFailed: b': x"

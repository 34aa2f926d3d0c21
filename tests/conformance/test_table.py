"""The page for those who write adapters shows the table that the suite prints."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.cases import CASES
from tests.conformance.missing import MISSING
from tests.conformance.suite import PLATFORMS
from tests.conformance.table import YES, table

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"


def test_the_page_about_adapters_shows_what_is_missing_where() -> None:
    names = [case.name for case in CASES]

    promised = table(names, list(PLATFORMS), MISSING, lambda _case, _platform: YES)

    assert promised in PAGE.read_text(encoding="utf-8")


def test_what_is_missing_is_told_with_its_reason_and_what_fails_with_its_fault() -> None:
    faults = {("b", "y"): "shown twice"}

    shown = table(
        ["a", "b"],
        ["x", "y"],
        {"x": {"a": "no such thing"}},
        lambda case, platform: faults.get((case, platform), YES),
    )

    assert shown.splitlines() == [
        "| case | x | y |",
        "|---|---|---|",
        "| a | - (1) | yes |",
        "| b | yes | shown twice |",
        "",
        "1. no such thing",
    ]

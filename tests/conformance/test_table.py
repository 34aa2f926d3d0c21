"""The page of what works where names every case, and what is missing with its reason."""

from __future__ import annotations

from tests.conformance.__main__ import OURS, PAGE, shown
from tests.conformance.cases import CASES
from tests.conformance.missing import MISSING
from tests.conformance.table import YES, page


def test_the_page_has_every_case_of_our_platforms_and_every_declared_reason() -> None:
    written = PAGE.read_text(encoding="utf-8")

    assert written == shown({}), "run python -m tests.conformance --write"
    for case in CASES:
        assert written.count(f"\n| {case.name} | ") == 1
    for platform in OURS:
        for reason in MISSING.get(platform, {}).values():
            assert f". {reason}\n" in written


def test_what_is_missing_is_told_with_its_reason_and_what_fails_with_its_fault() -> None:
    faults = {("b", "y"): "shown twice"}

    told = page(
        {"Letters": ["a", "b"], "More": ["c"]},
        ["x", "y"],
        {"x": {"a": "no such thing", "c": "too small"}, "y": {"c": "no such thing"}},
        lambda case, platform: faults.get((case, platform), YES),
    )

    assert told.split("## Letters\n")[1].splitlines() == [
        "",
        "| case | x | y |",
        "|---|---|---|",
        "| a | - (1) | yes |",
        "| b | yes | shown twice |",
        "",
        "## More",
        "",
        "| case | x | y |",
        "|---|---|---|",
        "| c | - (2) | - (1) |",
        "",
        "## What is missing, and why",
        "",
        "1. no such thing",
        "2. too small",
    ]


def test_what_is_declared_missing_and_was_found_wrong_is_shown_as_wrong() -> None:
    told = page({"L": ["a"]}, ["x"], {"x": {"a": "no such thing"}}, lambda *_: "it works")

    assert "| a | it works |" in told
    assert "no such thing" not in told

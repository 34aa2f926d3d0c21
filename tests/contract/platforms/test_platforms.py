"""Every platform passes every case, and docs/capabilities.md lists each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from _pytest.mark import ParameterSet

from bot.store.database import Store
from tests.contract.platforms.__main__ import OURS, PAGE, YES, page, shown
from tests.contract.platforms.cases import CASES, Case
from tests.contract.platforms.gaps import MISSING
from tests.contract.platforms.suite import PLATFORMS, faults, opened_record


def _named(case: Case) -> ParameterSet:
    marks = [pytest.mark.mended(id=case.mended)] if case.mended else []
    return pytest.param(case, id=case.name, marks=marks)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def record(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Store]:
    """One a worker: its statements are compiled once for all cases."""
    async with opened_record(tmp_path_factory.mktemp("record")) as store:
        yield store


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("case", [_named(case) for case in CASES])
async def test_every_platform_shows_the_same_outcome(
    case: Case, platform: str, record: Store, tmp_path: Path
) -> None:
    assert await faults(case, platform, record, tmp_path) == []


def test_only_what_there_is_is_declared_missing() -> None:
    names = {case.name for case in CASES}

    assert set(MISSING) <= set(PLATFORMS)
    assert {name for cases in MISSING.values() for name in cases} <= names
    assert all(reason for cases in MISSING.values() for reason in cases.values())


def test_the_page_has_every_case_of_our_platforms_and_every_declared_reason() -> None:
    written = PAGE.read_text(encoding="utf-8")

    assert written == shown({}), "run python -m tests.contract.platforms --write"
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

"""Every platform shows the same outcome of the same question: platform x case."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.conformance.case import Case
from tests.conformance.cases import CASES
from tests.conformance.missing import MISSING
from tests.conformance.suite import PLATFORMS, faults


def _named(case: Case) -> ParameterSet:
    marks = [pytest.mark.mended(id=case.mended)] if case.mended else []
    return pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("case", [_named(case) for case in CASES])
async def test_every_platform_shows_the_same_outcome(
    case: Case, platform: str, tmp_path: Path
) -> None:
    assert await faults(case, platform, tmp_path) == []


def test_only_what_there_is_is_declared_missing() -> None:
    names = {case.name for case in CASES}

    assert set(MISSING) <= set(PLATFORMS)
    assert {name for cases in MISSING.values() for name in cases} <= names
    assert all(reason for cases in MISSING.values() for reason in cases.values())

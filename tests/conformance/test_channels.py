"""Every platform shows the same outcome of the same question: platform x case."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.cases import CASES, Case
from tests.conformance.platforms import PLATFORMS
from tests.conformance.suite import faults


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_every_platform_shows_the_same_outcome(
    case: Case, platform: str, tmp_path: Path
) -> None:
    assert await faults(case, platform, tmp_path) == []

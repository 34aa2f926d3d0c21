from __future__ import annotations

from pathlib import Path

import pytest

from tests.syncing.forgetting import BEYOND_SECONDS, INTERVAL_SECONDS, measure


@pytest.mark.slow
async def test_with_the_last_check_what_is_gone_or_closed_is_forgotten_at_once(
    tmp_path: Path,
) -> None:
    assert set((await measure(tmp_path, last_check=True)).values()) == {0.0}


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_what_is_gone_or_closed_is_forgotten_within_an_interval_and_a_minute(
    tmp_path: Path,
) -> None:
    found = await measure(tmp_path, last_check=False)

    assert max(found.values()) <= INTERVAL_SECONDS + BEYOND_SECONDS

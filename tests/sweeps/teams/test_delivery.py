"""Test that of activities sent while the server dies none is lost or answered twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sweeps.delivery import Size
from tests.sweeps.sizes import sizes
from tests.sweeps.teams.delivery import meets_promises, run_delivery

SEED = int(os.environ.get("FRONTDESK_DELIVERY_SEED", "1"))


@pytest.mark.mended(id="teams-3")
@sizes("size", smoke=Size(40, kills=1, retry_seconds=0.5), whole=Size(300, kills=3))
async def test_nothing_is_lost_and_nothing_twice_unsaid(size: Size, tmp_path: Path) -> None:
    """It prints its seed; another can be given."""
    run = await run_delivery(size, SEED, tmp_path)
    print(f"seed {SEED}: {run}")

    assert meets_promises(run), f"seed {SEED}"
    assert run.events >= size.events
    assert run.deliveries > 1.5 * size.events
    assert run.deaths > size.kills
    assert run.answered_as_edited > 0

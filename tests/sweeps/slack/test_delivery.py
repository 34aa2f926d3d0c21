"""Test that of events sent while the server dies none is lost or answered twice."""

from __future__ import annotations

import os
from pathlib import Path

from tests.sweeps.delivery import NOTHING_BROKEN, Size
from tests.sweeps.sizes import sizes
from tests.sweeps.slack.delivery import run_delivery

SEED = int(os.environ.get("FRONTDESK_DELIVERY_SEED", "1"))


@sizes("size", smoke=Size(60, kills=1, retry_seconds=0.5), whole=Size(2_000, kills=6))
async def test_nothing_is_lost_and_nothing_said_twice(size: Size, tmp_path: Path) -> None:
    """It prints its seed; another can be given."""
    run = await run_delivery(size, SEED, tmp_path)
    print(f"seed {SEED}: {run}")

    assert run.verdict == NOTHING_BROKEN, f"seed {SEED}"
    assert run.events >= size.events
    assert run.deliveries > 1.5 * size.events
    assert run.deaths > size.kills
    assert run.answered_as_edited > 0

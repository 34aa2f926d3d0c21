"""Test that of hundreds of activities sent while the server dies none is lost or answered twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sweeps.teams.delivery import meets_promises, run_delivery

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("delivery")]

EVENTS = 300
SEED = int(os.environ.get("FRONTDESK_DELIVERY_SEED", "1"))


@pytest.mark.mended(id="teams-3")
async def test_nothing_is_lost_and_nothing_twice_unsaid(tmp_path: Path) -> None:
    """It prints its seed; another can be given."""
    run = await run_delivery(EVENTS, SEED, tmp_path)
    print(f"seed {SEED}: {run}")

    assert meets_promises(run), f"seed {SEED}"
    assert run.events >= EVENTS
    assert run.deliveries > 1.5 * EVENTS
    assert run.deaths > EVENTS / 150
    assert run.answered_as_edited > 0

"""Test that of two thousand events sent while the server dies none is lost or answered twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sweeps.delivery import NOTHING_BROKEN
from tests.sweeps.slack.delivery import run_delivery

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("delivery")]

EVENTS = 2_000
SEED = int(os.environ.get("FRONTDESK_DELIVERY_SEED", "1"))


async def test_nothing_is_lost_and_nothing_said_twice(tmp_path: Path) -> None:
    """It prints its seed; another can be given."""
    run = await run_delivery(EVENTS, SEED, tmp_path)
    print(f"seed {SEED}: {run}")

    assert run.verdict == NOTHING_BROKEN, f"seed {SEED}"
    assert run.events >= EVENTS
    assert run.deliveries > 1.5 * EVENTS
    assert run.deaths > EVENTS / 400
    assert run.answered_as_edited > 0

"""Two thousand events, sent up to four times while the server dies: none lost, none twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.delivering.judging import KEPT
from tests.slack.delivery import delivered

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("delivery")]

EVENTS = 2_000
SEED = int(os.environ.get("FRONTDESK_DELIVERY_SEED", "1"))


async def test_nothing_is_lost_and_nothing_said_twice(tmp_path: Path) -> None:
    """It prints its seed; another can be given."""
    run = await delivered(EVENTS, SEED, tmp_path)
    print(f"seed {SEED}: {run}")

    assert run.verdict == KEPT, f"seed {SEED}"
    assert run.events >= EVENTS
    assert run.deliveries > 1.5 * EVENTS
    assert run.deaths > EVENTS / 400
    assert run.answered_as_edited > 0

"""Test that of what is sent while the server dies nothing is lost or answered twice."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.sweeps.delivery import NOTHING_BROKEN, Run, Size
from tests.sweeps.sizes import sizes
from tests.sweeps.slack import delivery as slack
from tests.sweeps.teams import delivery as teams

SEED = int(os.environ.get("FRONTDESK_DELIVERY_SEED", "1"))


async def delivered(
    run_delivery: Callable[[Size, int, Path], Awaitable[Run]], size: Size, folder: Path
) -> Run:
    """Run a delivery of which enough came of all that can go wrong.

    It prints its seed; another can be given.
    """
    run = await run_delivery(size, SEED, folder)
    print(f"seed {SEED}: {run}")
    assert run.events >= size.events
    assert run.deliveries > 1.5 * size.events
    assert run.deaths > size.kills
    assert run.answered_as_edited > 0
    return run


@sizes("size", smoke=Size(60, kills=1, retry_seconds=0.5), whole=Size(2_000, kills=6))
async def test_nothing_is_lost_and_nothing_said_twice_on_slack(size: Size, tmp_path: Path) -> None:
    run = await delivered(slack.run_delivery, size, tmp_path)

    assert run.verdict == NOTHING_BROKEN, f"seed {SEED}"


@pytest.mark.mended(id="teams-3")
@sizes("size", smoke=Size(40, kills=1, retry_seconds=0.5), whole=Size(300, kills=3))
async def test_nothing_is_lost_and_nothing_twice_unsaid_in_teams(
    size: Size, tmp_path: Path
) -> None:
    run = await delivered(teams.run_delivery, size, tmp_path)

    assert teams.meets_promises(run), f"seed {SEED}"

"""Real servers are killed while questions are asked; ``make chaos`` does it at length."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests import postgres
from tests.sweeps.chaos.event_delivery import SOON_AGAIN
from tests.sweeps.chaos.loads import LOADS, Load, LoadResult, under_load
from tests.sweeps.chaos.run import Plan, delivered_again, on_postgresql, on_sqlite
from tests.sweeps.chaos.scenario import Pace, Result
from tests.sweeps.sizes import SWEEP, sizes

QUICK = Pace(questions_a_second=8.0, patience=240.0, quiet=2.0)
ONE_KILL = Plan(seed=1, questions=12, kills=1, pace=QUICK, plain=False)
SMOKE = replace(ONE_KILL, servers=2, restarts=1, disconnects=0)
WHOLE = replace(SMOKE, questions=40, kills=2, disconnects=1)


def held(result: Result) -> bool:
    """Tell whether all promises were kept; print what is needed to see why not."""
    print("\n".join([*result.evidence, *result.timeline]))
    print(result.verdict)
    return result.verdict.kept and not result.ended_by_themselves


@sizes("plan", smoke=ONE_KILL, whole=replace(ONE_KILL, questions=40, kills=3))
async def test_a_server_on_sqlite_is_killed_and_every_question_is_answered_once(
    plan: Plan, prepared: Path, tmp_path: Path
) -> None:
    result = await on_sqlite(plan, tmp_path, prepared)

    assert held(result)
    assert result.verdict.asked == plan.questions
    assert sum(" killed" in line for line in result.timeline) == plan.kills


@pytest.mark.skipif(not postgres.available(), reason=postgres.MISSING)
@sizes("plan", smoke=SMOKE, whole=WHOLE)
async def test_servers_and_their_database_are_killed_and_every_question_is_answered_once(
    plan: Plan, prepared: Path
) -> None:
    with TemporaryDirectory() as folder:
        result = await on_postgresql(plan, Path(folder), prepared)

    assert held(result)
    assert result.verdict.asked == plan.questions
    assert any("PostgreSQL crashed" in line for line in result.timeline)


@pytest.mark.sweep
async def test_events_that_are_delivered_again_and_again_are_answered_once(
    prepared: Path, tmp_path: Path
) -> None:
    """In small: tests.sweeps.test_delivery."""
    result = await delivered_again(replace(ONE_KILL, questions=60), tmp_path, prepared)

    assert held(result)
    assert result.deliveries > 90


def in_small(name: str) -> Load:
    """Return a burst that is over in a moment, with one kill in it."""
    small = replace(LOADS[name][1], seconds=0.3, kills=1, gap_seconds=(0.1, 0.6), plain=False)
    return replace(small, again=SOON_AGAIN, quiet=2.0)


def taken_over(found: LoadResult) -> bool:
    """Tell whether all was answered once, and all that a killed server had begun taken over."""
    return held(found.result) and all(map(math.isfinite, found.takeover_seconds))


LOADED = [
    *(pytest.param(in_small(name), id=f"{name}-smoke") for name in ("sqlite", "two", "roles")),
    *(
        pytest.param(replace(load, seconds=2.0, kills=4, plain=False), id=name, marks=SWEEP)
        for name, (_, load) in LOADS.items()
    ),
]


@pytest.mark.parametrize("load", LOADED)
async def test_a_server_is_killed_in_a_burst_and_its_work_is_taken_over(
    load: Load, prepared: Path
) -> None:
    if not (load.alone or postgres.available()):
        pytest.skip(postgres.MISSING)
    with TemporaryDirectory() as folder:
        found = await under_load(load, Path(folder), prepared)

    assert taken_over(found)
    assert found.result.verdict.asked == load.questions
    assert found.takeovers

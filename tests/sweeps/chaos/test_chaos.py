"""The chaos runs in small: real servers are killed while questions are asked."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests import postgres
from tests.sweeps.chaos.run import Plan, delivered_again, on_postgresql, on_sqlite
from tests.sweeps.chaos.scenario import Pace, Result

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("chaos")]

QUICK = Pace(questions_a_second=8.0, patience=45.0, quiet=2.0)


def held(result: Result) -> bool:
    """Tell whether all promises were kept; print what is needed to see why not."""
    print("\n".join([*result.evidence, *result.timeline]))
    print(result.verdict)
    return result.verdict.kept and not result.ended_by_themselves


async def test_a_server_on_sqlite_is_killed_and_every_question_is_answered_once(
    tmp_path: Path,
) -> None:
    plan = Plan(seed=1, questions=40, kills=3, pace=QUICK)
    result = await on_sqlite(plan, tmp_path)

    assert held(result)
    assert result.verdict.asked == 40
    assert sum(" killed" in line for line in result.timeline) == 3


@pytest.mark.skipif(not postgres.available(), reason=postgres.MISSING)
async def test_servers_and_their_database_are_killed_and_every_question_is_answered_once() -> None:
    plan = Plan(seed=1, questions=40, kills=2, servers=2, restarts=1, disconnects=1, pace=QUICK)
    with TemporaryDirectory() as folder:
        result = await on_postgresql(plan, Path(folder))

    assert held(result)
    assert result.verdict.asked == 40
    assert any("PostgreSQL crashed" in line for line in result.timeline)


async def test_events_that_are_delivered_again_and_again_are_answered_once(tmp_path: Path) -> None:
    result = await delivered_again(Plan(seed=1, questions=60, pace=QUICK), tmp_path)

    assert held(result)
    assert result.deliveries > 90

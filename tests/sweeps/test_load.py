"""The load bench in small; how quick it is, the bench itself says."""

from __future__ import annotations

import pytest

from tests.bench.load import run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("load")]

MOST_GROWTH_MB = 40.0


async def test_100_questions_at_once_are_all_answered_and_leave_nothing_behind() -> None:
    waves = await run(questions=100, seconds=0.3, concurrency=16)

    for wave in waves:
        assert wave.all_answered, wave
        assert len(wave.acknowledged) == 90
    assert waves[1].after - waves[0].after < MOST_GROWTH_MB

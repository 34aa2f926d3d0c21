"""The load bench in small; how quick it is, the bench itself says."""

from __future__ import annotations

from pathlib import Path

from tests.bench.load import API_EVERY, run
from tests.sweeps.sizes import sizes

MOST_GROWTH_MB = 40.0


@sizes("questions", smoke=20, whole=100)
async def test_questions_at_once_are_all_answered_and_leave_nothing_behind(
    questions: int, prepared: Path
) -> None:
    waves = await run(questions=questions, seconds=0.3, concurrency=16, prepared=prepared)

    for wave in waves:
        assert wave.all_answered, wave
        assert len(wave.acknowledged) == questions - questions // API_EVERY
    assert waves[1].after - waves[0].after < MOST_GROWTH_MB

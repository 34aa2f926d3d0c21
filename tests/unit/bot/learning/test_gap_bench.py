"""The bench of gaps in small: that it measures what it says, without times."""

from __future__ import annotations

from pathlib import Path

from tests.bench.bench_gaps import measure


async def test_the_bench_attaches_and_groups_questions(tmp_path: Path) -> None:
    found = await measure(200, 3, tmp_path)

    assert 10 < found.gaps < 150
    assert found.attach_p95 > 0
    assert found.megabytes > 0

"""What passes over unchanged spaces cost: wall and CPU seconds, and processes started.

``python -m tests.bench.bench_passes [--spaces 10] [--pages 200] [--rounds 1]``

The wiki answers in this process, so that the CPU of the workers is theirs alone.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingestion.config import load_settings
from ingestion.folder import LARGEST_FILE
from ingestion.records.ledger import Records, records_of
from ingestion.runs.background import Runs
from ingestion.runs.source_registry import open_sources
from ingestion.runs.tracking import BY_SCHEDULE
from ingestion.runs.worker_pool import WorkerPool
from ingestion.types import Extent
from tests.fakes.confluence.generator import wiki_site
from tests.fakes.confluence.server import LocalConfluence
from tests.sweeps.syncing.follower import TENANT, environment, settings_for


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds a pass over one space takes: by the clock, and of the workers' CPU."""

    extent: Extent
    passes: int
    wall: float
    cpu: float


async def measure(spaces: int, pages: int, rounds: int) -> Sequence[Cost]:
    """Bring all spaces in once, then look at all again, at what changed and at everything."""
    keys = [f"S{number}" for number in range(spaces)]
    site = wiki_site(pages=pages, spaces=keys, people=6)
    with tempfile.TemporaryDirectory() as directory:
        async with LocalConfluence(site, "cloud").serving() as server:
            with environment(settings_for(server, Path(directory))):
                settings = load_settings()
                records = records_of(settings, settings.database_url)
                try:
                    await _round(records, keys, "all")
                    return [
                        await _rounds(records, keys, extent, rounds)
                        for extent in ("changes", "all")
                    ]
                finally:
                    records.close()


async def _rounds(records: Records, keys: Sequence[str], extent: Extent, rounds: int) -> Cost:
    wall, cpu = time.monotonic(), _cpu_of_workers()
    for _ in range(rounds):
        await _round(records, keys, extent)
    passes = rounds * len(keys)
    wall, cpu = time.monotonic() - wall, _cpu_of_workers() - cpu
    return Cost(extent, passes, wall / passes, cpu / passes)


async def _round(records: Records, keys: Sequence[str], extent: Extent) -> None:
    """Begin a run over each space, as the schedule does, and wait for the end of all."""
    settings = load_settings()
    async with open_sources(settings, records) as sources:
        work = WorkerPool(settings.data_dir, TENANT, LARGEST_FILE, records.leases)
        runs = Runs(records.ledger, sources, work)
        ids = [await runs.start(key, by=BY_SCHEDULE, extent=extent) for key in keys]
        await runs.settled()
        kept = [run for each in ids if (run := await runs.get(each)) is not None]
        if any(run.state != "done" for run in kept):
            sys.exit(f"A pass failed: {[run.failures for run in kept]}")
        await work.close()


def _cpu_of_workers() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print what a pass costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spaces", type=int, default=10)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    for cost in asyncio.run(measure(options.spaces, options.pages, options.rounds)):
        print(
            f"{cost.extent}: {cost.passes} passes, {cost.wall:.2f} s and "
            f"{cost.cpu:.2f} s of CPU each"
        )


if __name__ == "__main__":
    main()

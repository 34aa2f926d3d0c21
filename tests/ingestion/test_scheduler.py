"""What is due is begun, by one of several replicas."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from sqlalchemy import update

from ingestion.errors import SourceUnavailable
from ingestion.ports import Progress
from ingestion.records.assembly import Records, records_at
from ingestion.records.database import PASSES
from ingestion.records.types import Run
from ingestion.runs.background import Runs
from ingestion.runs.schedule import Cadence, Scheduler
from ingestion.types import Report
from tests.ingestion.test_runs import Named

SPACES = ("HR", "IT")
CADENCE = Cadence(changes=300, whole=1800)


class Replica:
    """A server's runs and scheduler over shared records; notes what it read."""

    def __init__(self, records: Records, cadence: Cadence = CADENCE) -> None:
        self.read: list[tuple[str, str]] = []
        self.error: Exception | None = None
        self.changed: tuple[str, ...] = ()
        self.runs = Runs(records.ledger, Named(*SPACES), self._work)
        self.scheduler = Scheduler(self.runs, records, self._spaces, cadence)

    async def tick(self) -> None:
        await self.scheduler.begin_due()
        await self.runs.settled()

    async def _spaces(self) -> Sequence[str]:
        return SPACES

    async def _work(self, space: str, progress: Progress, run: Run) -> Report:
        self.read.append((space, run.extent))
        if self.error:
            raise self.error
        within = ("1",) if run.extent == "changes" else None
        return Report(space, extent=run.extent, watermark="w", within=within, changed=self.changed)


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return records_at(tmp_path, "acme")


@pytest.fixture
async def replica(records: Records) -> AsyncIterator[Replica]:
    made = Replica(records)
    yield made
    await made.runs.stop()


async def go_back(records: Records, seconds: float) -> None:
    """Let time pass since all passes, and since all that was read."""
    earlier = update(PASSES).values(begun=PASSES.c.begun - seconds)
    await records.database.run(lambda connection: connection.execute(earlier))
    for space in await records.ledger.synced():
        await records.ledger.forget(space)


async def test_what_is_due_is_read_once_and_then_not_before_its_time(
    replica: Replica, records: Records
) -> None:
    await replica.tick()
    await replica.tick()
    assert sorted(replica.read) == [("HR", "all"), ("IT", "all")]

    await go_back(records, 301)
    await replica.tick()
    assert sorted(replica.read[2:]) == [("HR", "changes"), ("IT", "changes")]


async def test_of_several_replicas_one_begins_each_pass(tmp_path: Path) -> None:
    replicas = [Replica(records_at(tmp_path, "acme")) for _ in range(5)]

    await asyncio.gather(*(each.tick() for each in replicas))

    assert sorted(one for each in replicas for one in each.read) == [("HR", "all"), ("IT", "all")]


async def test_passes_that_find_nothing_leave_no_run_behind(
    replica: Replica, records: Records
) -> None:
    await replica.tick()
    assert await replica.runs.newest(9) == []
    assert set(await records.ledger.synced()) == set(SPACES)

    replica.changed = ("1",)
    await go_back(records, 2000)
    await replica.tick()
    assert [run.by for run in await replica.runs.newest(9)] == ["schedule", "schedule"]


async def test_a_pass_that_fails_is_begun_again_later_and_later(
    replica: Replica, records: Records
) -> None:
    replica.error = SourceUnavailable("The wiki is away.")
    await replica.tick()
    await go_back(records, 1801)
    await replica.tick()
    assert len(replica.read) == 2 + 2  # in between only changes were due
    assert [extent for _, extent in replica.read[2:]] == ["changes", "changes"]

    replica.error = None
    await go_back(records, 1801)
    await replica.tick()
    assert [extent for _, extent in replica.read[4:]] == ["all", "all"]


async def test_a_schedule_of_never_asks_nobody(records: Records) -> None:
    replica = Replica(records, Cadence(0, 0))

    await replica.tick()

    assert replica.read == []


async def test_the_next_pass_over_each_space_can_be_told(
    replica: Replica, records: Records
) -> None:
    await replica.tick()

    told = await replica.scheduler.next_passes()

    assert {space: each.extent for space, each in told.items()} == dict.fromkeys(SPACES, "changes")
    assert await Replica(records, Cadence(0, 0)).scheduler.next_passes() == {}

"""When spaces are due, which replica begins their runs, and what status shows of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from ingestion.errors import SourceUnavailable
from ingestion.records.database import PASSES
from ingestion.records.ledger import Pass, Records, records_at
from ingestion.records.types import Failure, Run, Synced
from ingestion.runs.background import Runs
from ingestion.runs.schedule import (
    LONGEST_PAUSE_SECONDS,
    Begun,
    Cadence,
    LastFailure,
    Next,
    Scheduler,
    WikiStatus,
    due,
    upcoming,
    wiki_status,
)
from ingestion.types import Extent, Progress, Report
from tests.unit.ingestion.runs.test_background import Named

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
CADENCE = Cadence(changes=300, whole=1800)
RUN = Run(
    "r", "HR", dry_run=False, allow_mass_delete=False, by="a", state="running", created_at=NOW
)


def found(
    *spaces: str,
    begun: Begun | None = None,
    failed: Collection[tuple[str, Extent]] = (),
    synced: Mapping[str, Synced] | None = None,
    active: Sequence[Run] = (),
    cadence: Cadence = CADENCE,
) -> list[tuple[str, str]]:
    passes = due(
        spaces or ("HR",),
        begun=begun or {},
        failed=failed,
        synced=synced or {},
        active=active,
        cadence=cadence,
        now=NOW,
    )
    return [(each.space, each.extent) for each in passes]


def ago(seconds: float, failures: int = 0) -> Pass:
    return Pass(seconds, "r1", failures)


def test_a_space_that_was_never_read_is_read_whole() -> None:
    assert found() == [("HR", "all")]


def test_without_whole_passes_changes_are_asked_for() -> None:
    assert found(cadence=Cadence(300, 0)) == [("HR", "changes")]


def test_never_is_never() -> None:
    assert found(cadence=Cadence(0, 0)) == []
    assert Cadence(0, 0).never


@pytest.mark.parametrize(
    ("whole", "changes", "expected"),
    [
        (100, 100, []),
        (301, 301, [("HR", "changes")]),
        (1801, 100, [("HR", "all")]),
        (1801, 301, [("HR", "all")]),
        (100, 9999, []),
    ],
)
def test_each_pass_has_its_interval_and_a_whole_one_looks_at_changes_too(
    whole: float, changes: float, expected: list[tuple[str, str]]
) -> None:
    begun: Begun = {("HR", "all"): ago(whole), ("HR", "changes"): ago(changes)}

    assert found(begun=begun) == expected


def test_what_was_read_by_hand_is_not_read_again_at_once() -> None:
    just_now = NOW - timedelta(seconds=10)
    synced = {"HR": Synced(just_now, just_now, whole_at=just_now)}

    assert found(begun={("HR", "all"): ago(9999)}, synced=synced) == []


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (RUN, []),
        (replace(RUN, space=None), []),
        (replace(RUN, space="IT"), [("HR", "all")]),
        (replace(RUN, extent="page", page="/1"), [("HR", "all")]),
    ],
    ids=["over the space", "over all", "over another", "over one page"],
)
def test_a_space_that_is_being_read_has_nothing_due(
    run: Run, expected: list[tuple[str, str]]
) -> None:
    assert found(active=[run]) == expected


def test_each_failure_doubles_the_pause() -> None:
    failed: list[tuple[str, Extent]] = [("HR", "changes")]
    whole: Begun = {("HR", "all"): ago(1000)}

    def after(seconds: float, failures: int) -> list[tuple[str, str]]:
        return found(begun={**whole, ("HR", "changes"): ago(seconds, failures)}, failed=failed)

    assert after(301, 0) == []
    assert after(601, 0) == [("HR", "changes")]
    assert after(601, 1) == []
    assert found(begun={**whole, ("HR", "changes"): ago(301, 3)}) == [("HR", "changes")]


def test_the_longest_overdue_comes_first() -> None:
    begun: Begun = {("A", "all"): ago(1900), ("B", "all"): ago(9000), ("C", "all"): ago(2500)}

    assert [space for space, _ in found("A", "B", "C", begun=begun)] == ["B", "C", "A"]


@given(
    space=st.text(min_size=1),
    since=st.floats(0, 10**6),
    failures=st.integers(0, 10**6),
    every=st.integers(60, 10**5),
)
def test_no_pass_is_late_unless_it_failed_and_then_by_a_bounded_pause(
    space: str, since: float, failures: int, every: int
) -> None:
    over: tuple[str, Extent] = (space, "all")
    cadence, begun = Cadence(0, every), {over: ago(since, failures)}

    on_time = due([space], begun=begun, failed=(), synced={}, active=(), cadence=cadence, now=NOW)
    after_failures = due(
        [space], begun=begun, failed=(over,), synced={}, active=(), cadence=cadence, now=NOW
    )

    assert bool(on_time) or since < every
    assert not on_time or since >= every * 0.9
    assert bool(after_failures) or since < max(every, LONGEST_PAUSE_SECONDS)


def next_of(begun: Begun, failed: Collection[tuple[str, Extent]] = (), **changed: float) -> Next:
    cadence = replace(CADENCE, **changed)
    passes = upcoming(["HR"], begun=begun, failed=failed, synced={}, cadence=cadence, now=NOW)
    return passes["HR"]


def test_the_next_pass_is_the_one_that_is_due_first() -> None:
    begun: Begun = {("HR", "all"): ago(100), ("HR", "changes"): ago(100)}

    assert next_of(begun).extent == "changes"
    assert 170 <= (next_of(begun).at - NOW).total_seconds() <= 200
    assert next_of(begun, changes=0).extent == "all"
    assert next_of({}).at == NOW


def test_a_pass_that_failed_comes_later_and_one_that_never_is_not_at_all() -> None:
    begun: Begun = {("HR", "all"): ago(0), ("HR", "changes"): ago(0)}

    assert next_of(begun, [("HR", "changes")]).at > next_of(begun).at + timedelta(seconds=200)
    assert not upcoming(["HR"], begun=begun, failed=(), synced={}, cadence=Cadence(0, 0), now=NOW)


@given(whole=st.floats(0, 5000), changes=st.floats(0, 5000))
def test_what_comes_next_is_due_exactly_when_it_is_said(whole: float, changes: float) -> None:
    begun: Begun = {("HR", "all"): ago(whole), ("HR", "changes"): ago(changes)}
    waits = (next_of(begun).at - NOW).total_seconds()

    assert bool(found(begun=begun)) == (waits == 0)


SPACES = ("HR", "IT")


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


async def test_the_next_pass_over_each_space_can_be_told(
    replica: Replica, records: Records
) -> None:
    await replica.tick()

    told = await replica.scheduler.next_passes()

    assert {space: each.extent for space, each in told.items()} == dict.fromkeys(SPACES, "changes")
    assert await Replica(records, Cadence(0, 0)).scheduler.next_passes() == {}


STATUS_NOW = datetime.now(UTC)
FAILED = Run(
    id="r1",
    space="IT",
    dry_run=False,
    allow_mass_delete=False,
    by="schedule",
    state="failed",
    created_at=STATUS_NOW,
    ended_at=STATUS_NOW,
    failures=(Failure("IT", "", "the space was emptied", "Look."),),
)


async def read(records: Records, space: str, ended: datetime) -> None:
    synced = Synced(ended, ended, whole_at=ended, watermark="w")
    await records.ledger.change_synced(space, lambda _: synced)


async def told(records: Records, cadence: Cadence = CADENCE) -> WikiStatus:
    return await wiki_status(records, cadence, datetime.now(UTC))


async def test_before_the_first_pass_nothing_is_known(records: Records) -> None:
    assert await told(records) == WikiStatus((), None, None, ())


async def test_the_space_that_was_looked_at_longest_ago_counts(records: Records) -> None:
    await read(records, "IT", STATUS_NOW - timedelta(minutes=4))
    await read(records, "HR", STATUS_NOW - timedelta(minutes=9))

    known = await told(records)

    assert known.spaces == ("HR", "IT")
    assert known.looked_at == STATUS_NOW - timedelta(minutes=9)


async def test_what_is_filled_by_folders_is_no_space_of_the_wiki(records: Records) -> None:
    await records.ledger.change_synced("handbook", lambda _: Synced(STATUS_NOW, STATUS_NOW))

    assert (await told(records)).spaces == ()


async def test_a_space_that_was_never_read_to_the_end_keeps_all_from_being_up_to_date(
    records: Records,
) -> None:
    await read(records, "IT", STATUS_NOW)
    await records.passes.claim("HR", "all", idle_seconds=1, failures=0)

    known = await told(records)

    assert (known.spaces, known.looked_at) == (("HR", "IT"), None)


async def test_the_next_pass_is_the_first_that_comes(records: Records) -> None:
    now = datetime.now(UTC)
    await records.passes.claim("IT", "all", idle_seconds=1, failures=0)
    await records.passes.claim("IT", "changes", idle_seconds=1, failures=0)

    next_at = (await told(records)).next_at

    assert next_at is not None
    assert 240 < (next_at - now).total_seconds() < 310
    assert (await told(records, Cadence(0, 0))).next_at is None


async def test_a_space_that_was_read_by_hand_is_looked_at_again_in_its_turn(
    records: Records,
) -> None:
    now = datetime.now(UTC)
    await read(records, "IT", now)

    next_at = (await told(records)).next_at

    assert next_at is not None
    assert 240 < (next_at - now).total_seconds() < 310


async def test_a_space_that_is_read_no_more_is_not_counted(records: Records) -> None:
    await read(records, "IT", STATUS_NOW)
    await read(records, "OLD", STATUS_NOW - timedelta(days=9))

    known = await wiki_status(records, CADENCE, STATUS_NOW, ["IT"])

    assert (known.spaces, known.looked_at) == (("IT",), STATUS_NOW)


async def test_a_run_that_failed_is_told_until_the_space_is_read_again(records: Records) -> None:
    await read(records, "IT", STATUS_NOW - timedelta(minutes=5))
    await records.ledger.begin(FAILED)
    before = (await told(records)).troubles
    await read(records, "IT", STATUS_NOW + timedelta(seconds=1))

    assert before == (LastFailure("IT", "the space was emptied"),)
    assert (await told(records)).troubles == ()


@pytest.mark.parametrize("change", [{"dry_run": True}, {"page": "7"}, {"state": "cancelled"}])
async def test_runs_that_were_not_to_bring_it_up_to_date_say_nothing(
    records: Records, change: dict[str, object]
) -> None:
    await read(records, "IT", STATUS_NOW - timedelta(minutes=5))
    await records.ledger.begin(replace(FAILED, **change))  # type: ignore[arg-type]

    assert (await told(records)).troubles == ()


async def test_of_a_run_over_all_only_the_space_that_failed_is_told(records: Records) -> None:
    await read(records, "HR", STATUS_NOW - timedelta(minutes=5))
    await read(records, "IT", STATUS_NOW - timedelta(minutes=5))
    await records.ledger.begin(replace(FAILED, space=None))

    assert [one.space for one in (await told(records)).troubles] == ["IT"]

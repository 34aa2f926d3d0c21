"""Background runs: one at a time on a space, reported, cancelled, resumed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from ingestion.errors import (
    DocumentInTheWay,
    DocumentUnknown,
    IngestionError,
    LedgerUnavailable,
    RunInProgress,
    SpaceBlind,
    TooManyRemoved,
)
from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import Run
from ingestion.runs.background import Runs
from ingestion.types import Finding, Progress, Report, Source


class Named:
    """Sources by name; none is ever read."""

    def __init__(self, *spaces: str, unseen: str = "") -> None:
        self._spaces = spaces
        self._unseen = unseen

    async def spaces(self) -> Sequence[str]:
        return self._spaces

    async def source(self, space: str) -> Source:
        if space not in self._spaces:
            raise DocumentUnknown(space)
        return None  # type: ignore[return-value]  # nobody reads it

    async def listing_error(self) -> str:
        return self._unseen

    async def space_of(self, url: str) -> str | None:
        return next((space for space in self._spaces if f"/{space}/" in url), None)


class Work:
    """Work that waits to be let on; notes what it was asked, and how much went on at once."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.begun = asyncio.Event()
        self.on = asyncio.Event()
        self.errors: list[Exception] = []
        self.at_once: dict[str, int] = {}
        self.most = 0

    async def __call__(self, space: str, progress: Progress, run: Run) -> Report:
        self.at_once[space] = self.at_once.get(space, 0) + 1
        self.most = max(self.most, *self.at_once.values())
        try:
            if self.errors:
                raise self.errors.pop(0)
            progress.begin(space, 2)
            progress.advance(pages=1, chunks=3)
            progress.fail("b.pdf", "is encrypted; save it without a password")
            self.begun.set()
            await self.on.wait()
            self.done.append(space)
            failed = (Finding("b.pdf", "is encrypted; save it without a password"),)
            return Report(space, added=("a.md",), failed=failed, dry_run=run.dry_run)
        finally:
            self.at_once[space] -= 1


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(sqlite_in(tmp_path), "acme")


@pytest.fixture
async def runs(ledger: Ledger, work: Work) -> AsyncIterator[Runs]:
    made = Runs(ledger, Named("HR", "IT"), work)
    yield made
    await made.stop()


async def only(runs: Runs) -> Run:
    (run,) = await runs.newest(10)
    return run


async def done(runs: Runs, space: str | None, *, dry_run: bool = False, by: str = "anna") -> str:
    """Start a run and wait until it has ended."""
    run_id = await runs.start(space, by=by, dry_run=dry_run)
    await runs.settled()
    return run_id


async def interrupted(runs: Runs, work: Work) -> None:
    """Stop in the midst of a run; what is begun later goes on."""
    await work.begun.wait()
    await runs.stop()
    work.on.set()


async def resumed(tmp_path: Path, work: Work, sources: Named) -> Runs:
    """Start once more, and wait until what was interrupted is done."""
    again = Runs(Ledger(sqlite_in(tmp_path), "acme"), sources, work)
    await again.resume([])
    await again.settled()
    return again


async def test_a_run_tells_what_it_did_and_what_failed_with_the_cure(
    runs: Runs, work: Work, ledger: Ledger
) -> None:
    work.on.set()
    run_id = await done(runs, "HR")

    run = await only(runs)
    assert (run.id, run.state, run.added, run.pages, run.total, run.chunks) == (
        run_id,
        "done",
        1,
        1,
        2,
        3,
    )
    assert run.failed == 1
    (failure,) = run.failures
    assert (failure.reason, failure.cure) == ("is encrypted", "Save it without a password.")
    assert (await ledger.synced())["HR"].failures == run.failures


async def test_a_run_over_all_takes_space_after_space(runs: Runs, work: Work) -> None:
    work.on.set()
    await done(runs, None)

    assert work.done == ["HR", "IT"]
    assert (await only(runs)).added == 2


async def test_a_run_over_all_fails_where_it_is_not_known_what_all_is(
    ledger: Ledger, work: Work
) -> None:
    work.on.set()
    runs = Runs(ledger, Named("HR", unseen="The wiki is away."), work)
    await done(runs, None)

    run = await only(runs)
    assert (run.state, work.done) == ("failed", ["HR"])
    assert run.failures[0].reason == "The wiki is away."


async def test_a_dry_run_is_no_bringing_up_to_date(runs: Runs, work: Work, ledger: Ledger) -> None:
    work.on.set()
    await done(runs, "HR", dry_run=True)

    assert (await only(runs)).dry_run
    assert await ledger.synced() == {}


@pytest.mark.parametrize(("first", "second"), [("HR", "HR"), ("HR", None), (None, "HR")])
async def test_a_second_run_over_the_same_is_refused(
    runs: Runs, work: Work, first: str | None, second: str | None
) -> None:
    await runs.start(first, by="anna")
    await work.begun.wait()

    with pytest.raises(DocumentInTheWay, match="under way"):
        await runs.start(second, by="bea")


async def test_of_many_orders_at_once_one_is_taken(runs: Runs, work: Work) -> None:
    orders = (runs.start("HR" if number % 2 else None, by="anna") for number in range(100))
    told = await asyncio.gather(*orders, return_exceptions=True)
    work.on.set()
    await runs.settled()

    assert [type(each) for each in told].count(DocumentInTheWay) == 99
    assert len(await runs.newest(1000)) == 1


async def test_what_is_not_known_can_not_be_read(runs: Runs) -> None:
    with pytest.raises(DocumentUnknown):
        await runs.start("NONE", by="anna")
    with pytest.raises(DocumentUnknown):
        await runs.cancel("none")


async def test_many_requests_share_the_run_that_waits_and_none_joins_the_one_that_reads(
    runs: Runs, work: Work
) -> None:
    first = await runs.request("HR", by="anna")
    await work.begun.wait()
    later = {await runs.request("HR", by="bea") for _ in range(5)}
    work.on.set()
    await runs.settled()

    assert len(later) == 1
    assert first not in later
    assert work.done == ["HR", "HR"]
    assert work.most == 1


async def test_a_cancelled_run_ends_and_the_next_can_begin(runs: Runs, work: Work) -> None:
    run_id = await runs.start("HR", by="anna")
    await work.begun.wait()

    await runs.cancel(run_id)

    assert (await only(runs)).state == "cancelled"
    await runs.cancel(run_id)
    assert (await only(runs)).state == "cancelled"
    await runs.start("HR", by="anna")


async def test_another_process_can_cancel_a_run(
    runs: Runs, work: Work, ledger: Ledger, tmp_path: Path
) -> None:
    run_id = await runs.start("HR", by="anna")
    await work.begun.wait()

    await Runs(Ledger(sqlite_in(tmp_path), "acme"), Named("HR"), work).cancel(run_id)
    await runs.settled()

    assert (await ledger.get(run_id)) is not None
    assert (await only(runs)).state == "cancelled"


async def test_a_space_that_another_process_works_on_is_waited_for(
    runs: Runs, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.runs.background._LEASE_SECONDS", 0.01)
    work.errors = [RunInProgress("busy"), RunInProgress("busy")]
    work.on.set()

    await done(runs, "HR")

    assert (await only(runs)).state == "done"
    assert work.done == ["HR"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (IngestionError("'/srv' is no folder; name an existing one"), "Name an existing one."),
        (
            TooManyRemoved("9 pages are gone. If they are meant to go, --x"),
            "If they should be removed",
        ),
        (RuntimeError("password=hunter2"), "It is in the log."),
    ],
)
async def test_a_space_that_can_not_be_read_is_told_and_the_others_go_on(
    runs: Runs, work: Work, error: Exception, told: str
) -> None:
    work.errors = [error]
    work.on.set()
    await done(runs, None)

    run = await only(runs)
    assert run.state == "failed"
    assert any(failure.cure.startswith(told) for failure in run.failures)
    assert "hunter2" not in repr(run)
    assert "--x" not in repr(run)
    assert work.done == ([] if isinstance(error, RuntimeError) else ["IT"])


async def test_what_was_interrupted_is_resumed_by_the_next_start_and_nothing_else(
    runs: Runs, work: Work, tmp_path: Path
) -> None:
    await runs.start("IT", by="anna")
    await runs.start("HR", by="anna", dry_run=True)
    await interrupted(runs, work)

    again = Runs(Ledger(sqlite_in(tmp_path), "acme"), Named("HR", "IT"), work)
    assert [run.state for run in await again.newest(10)] == ["interrupted", "interrupted"]
    await again.resume([])
    await again.settled()

    assert work.done == ["IT"]
    await again.resume([])
    await again.settled()
    assert work.done == ["IT"]
    await again.resume(["HR", "GONE"])
    await again.settled()
    assert work.done == ["IT", "HR"]


async def test_what_resumes_a_run_is_told_by_the_run_and_may_remove_what_it_might(
    runs: Runs, work: Work, tmp_path: Path
) -> None:
    every = await runs.start(None, by="anna", allow_mass_delete=True)
    dry = await runs.start("IT", by="anna", dry_run=True)
    await interrupted(runs, work)

    again = await resumed(tmp_path, work, Named("HR", "IT"))

    told, told_dry = await again.get(every), await again.get(dry)
    assert told
    assert told_dry
    assert told.state == told_dry.state == "interrupted"
    assert told_dry.resumed_as == ()
    following = [await again.get(each) for each in told.resumed_as]
    assert [(run.space, run.state, run.allow_mass_delete) for run in following if run] == [
        ("HR", "done", True),
        ("IT", "done", True),
    ]


async def test_a_start_that_was_cut_off_leaves_what_it_resumes_to_the_next(
    runs: Runs, work: Work, tmp_path: Path
) -> None:
    run_id = await runs.start("HR", by="anna")
    await interrupted(runs, work)
    cut_off = Runs(Unsettled(sqlite_in(tmp_path), "acme"), Named("HR"), work)
    with pytest.raises(LedgerUnavailable):
        await cut_off.resume([])
    await cut_off.stop()

    again = await resumed(tmp_path, work, Named("HR"))

    told = await again.get(run_id)
    assert told
    (following,) = told.resumed_as
    assert [run.id for run in await again.newest(9) if run.state == "done"] == [following]


class Unsettled(Ledger):
    """A ledger that can't be written when what was interrupted is to be settled."""

    settled = False

    async def settle(self, interrupted: Sequence[Run]) -> None:
        if not self.settled:
            raise LedgerUnavailable("The process ended.")
        await super().settle(interrupted)


async def test_what_was_to_be_cancelled_when_its_process_died_is_not_gone_on_with(
    runs: Runs, work: Work, ledger: Ledger, tmp_path: Path
) -> None:
    run_id = await runs.start("HR", by="anna")
    await interrupted(runs, work)
    await ledger.cancel(run_id)

    again = await resumed(tmp_path, work, Named("HR"))

    assert [run.state for run in await again.newest(9)] == ["cancelled"]
    assert work.done == []


async def test_a_dry_run_tells_that_a_real_one_would_be_held_back(ledger: Ledger) -> None:
    async def work(space: str, progress: Progress, run: Run) -> Report:
        return Report(space, dry_run=True, would_stop="9 pages are gone. If they are meant, --x")

    runs = Runs(ledger, Named("HR"), work)
    await done(runs, "HR", dry_run=True)

    run = await only(runs)
    assert (run.state, run.failed) == ("done", 0)
    (failure,) = run.failures
    assert failure.mass_delete
    assert failure.reason == "A real run would stop: 9 pages are gone."


class FullDisk(Ledger):
    """A ledger on a disk that is full while it is said to be."""

    full = False

    async def begin(self, run: Run) -> None:
        if self.full:
            raise LedgerUnavailable("The disk is full.")
        await super().begin(run)

    async def write(self, run: Run) -> bool:
        if self.full:
            raise LedgerUnavailable("The disk is full.")
        return await super().write(run)


async def test_a_request_that_could_not_be_kept_keeps_no_later_one_from_being_read(
    tmp_path: Path, work: Work
) -> None:
    work.on.set()
    ledger = FullDisk(sqlite_in(tmp_path), "acme")
    runs = Runs(ledger, Named("IT"), work)
    ledger.full = True
    with pytest.raises(LedgerUnavailable):
        await runs.request("IT", by="anna")
    ledger.full = False

    await runs.request("IT", by="anna")
    await runs.settled()

    assert work.done == ["IT"]


async def test_an_end_that_could_not_be_kept_is_kept_once_the_disk_is_well(
    tmp_path: Path, work: Work
) -> None:
    ledger = FullDisk(sqlite_in(tmp_path), "acme")
    runs = Runs(ledger, Named("IT"), work)
    await runs.start("IT", by="anna")
    await work.begun.wait()
    ledger.full = True
    work.on.set()
    while not work.done:  # noqa: ASYNC110 - nobody says so
        await asyncio.sleep(0.01)
    ledger.full = False
    await asyncio.wait_for(runs.settled(), 60)

    assert (await only(runs)).state == "done"
    await done(runs, "IT")
    assert work.done == ["IT", "IT"]


async def test_a_run_whose_end_can_not_be_kept_holds_up_no_stop(tmp_path: Path, work: Work) -> None:
    ledger = FullDisk(sqlite_in(tmp_path), "acme")
    runs = Runs(ledger, Named("IT"), work)
    await runs.start("IT", by="anna")
    await work.begun.wait()
    ledger.full = True
    work.on.set()
    while not work.done:  # noqa: ASYNC110 - nobody says so
        await asyncio.sleep(0.01)

    await asyncio.wait_for(runs.stop(), 60)

    assert [run.state for run in await Ledger(sqlite_in(tmp_path), "acme").newest(1)] == [
        "interrupted"
    ]


async def test_a_disk_that_takes_no_writes_is_waited_for(runs: Runs, work: Work) -> None:
    work.on.set()
    work.errors = [LedgerUnavailable("The disk is full.")]
    await runs.request("IT", by="anna")
    await runs.settled()

    assert work.done == ["IT"]
    assert (await only(runs)).state == "done"


async def test_a_run_over_one_page_finds_its_space_and_stands_in_nobodys_way(
    runs: Runs, work: Work
) -> None:
    await runs.start("HR", by="anna")
    await work.begun.wait()
    over_page = await runs.start(None, by="bea", page="https://wiki.example.com/HR/7")
    other = await runs.start("IT", by="bea")
    work.on.set()
    await runs.settled()

    told = await runs.get(over_page)
    assert told
    assert (told.space, told.extent, told.page, told.state) == (
        "HR",
        "page",
        "https://wiki.example.com/HR/7",
        "done",
    )
    assert other in {run.id for run in await runs.newest(9)}
    assert sorted(work.done) == ["HR", "HR", "IT"]
    assert work.most == 1


async def test_a_page_that_is_in_no_space_is_refused(runs: Runs) -> None:
    with pytest.raises(DocumentUnknown, match="no readable page"):
        await runs.start(None, by="bea", page="https://elsewhere.example.com/7")
    assert await runs.find_space("https://elsewhere.example.com/7") is None
    assert await runs.find_space("https://wiki.example.com/IT/7") == "IT"


async def test_an_interrupted_run_over_one_page_is_resumed_as_that(
    runs: Runs, work: Work, tmp_path: Path
) -> None:
    await runs.start("HR", by="anna", page="/HR/7")
    await interrupted(runs, work)

    again = await resumed(tmp_path, work, Named("HR"))

    newest, _ = await again.newest(9)
    assert (newest.extent, newest.page, newest.state) == ("page", "/HR/7", "done")


@pytest.mark.parametrize("error", [TooManyRemoved("9 are gone."), SpaceBlind("All are gone.")])
async def test_somebody_is_told_of_a_run_that_held_back(
    ledger: Ledger, work: Work, error: TooManyRemoved
) -> None:
    told: list[tuple[str, str]] = []

    async def tell(space: str, why: str) -> None:
        told.append((space, why))
        raise RuntimeError("nobody is there")

    work.errors = [error]
    runs = Runs(ledger, Named("HR"), work, on_held_back=tell)
    with capture_logs() as logs:
        await runs.start("HR", by="schedule")
        await runs.settled()

    assert told == [("HR", str(error))]
    assert "reindex.held_back" in {log["event"] for log in logs}
    assert (await only(runs)).failures[0].mass_delete


async def test_what_was_taken_over_and_could_not_be_resumed_is_resumed_later(
    runs: Runs, work: Work, tmp_path: Path
) -> None:
    await runs.start("HR", by="anna")
    await interrupted(runs, work)
    ledger = Unsettled(sqlite_in(tmp_path), "acme")
    again = Runs(ledger, Named("HR"), work)

    with pytest.raises(LedgerUnavailable):
        await again.resume([])
    ledger.settled = True
    await again.resume([])
    await again.settled()

    assert {run.state for run in await again.newest(9)} == {"done", "interrupted"}

"""The ledger keeps runs, failures, folders and what was synced."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import update

from ingestion.errors import LedgerUnavailable
from ingestion.records.database import RUNS, Database, sqlite_in
from ingestion.records.leases import owner_here
from ingestion.records.ledger import SILENT_SECONDS, Ledger
from ingestion.records.types import Failure, FolderEntry, Retry, Run, Synced
from tests.unit.ingestion.records.conftest import Opens

WHEN = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
RUN = Run(
    id="r1",
    space="HR",
    dry_run=False,
    allow_mass_delete=False,
    by="anna",
    state="running",
    created_at=WHEN,
    failures=(Failure("HR", "ü.md", "is broken", "Mend it."),),
    extent="page",
    page="https://wiki.example.com/1",
)
DEAD = """
import asyncio, sys
from ingestion.records.database import Database
from ingestion.records.ledger import Ledger
from tests.unit.ingestion.records.test_ledger import RUN
database = Database(sys.argv[1])
asyncio.run(Ledger(database, "acme").begin(RUN))
database.close()
"""


async def states(ledger: Ledger) -> Sequence[str]:
    return [run.state for run in await ledger.newest(10)]


class OnAHost(Ledger):
    """The ledger of a process on a host of that name."""

    def __init__(self, database: Database, host: str) -> None:
        super().__init__(database, "acme")
        self._owner = f"{host}/1/x"


async def written_by_the_dead(address: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    dying = [sys.executable, "-c", DEAD, address]
    await asyncio.to_thread(subprocess.run, dying, check=True, env=environment)


async def test_a_run_is_told_to_all_processes_as_it_was_written(opens: Opens) -> None:
    ours, theirs = Ledger(opens(), "acme"), Ledger(opens(), "acme")

    await ours.begin(replace(RUN, state="waiting"))

    assert not await ours.write(RUN)
    assert await ours.newest(10) == [RUN]
    assert await Ledger(opens(), "other").newest(10) == []
    assert await ours.get("r1") == RUN
    assert await theirs.get("gone") is None


async def test_the_newest_come_first_and_the_oldest_are_forgotten(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.records.ledger._KEPT_RUNS", 3)
    await ledger.begin(replace(RUN, id="still running"))
    for number in range(6):
        await ledger.begin(replace(RUN, id=f"r{number}"))
        await ledger.write(replace(RUN, id=f"r{number}", state="done"))

    assert [run.id for run in await ledger.newest(2)] == ["r5", "r4"]
    assert [run.id for run in await ledger.newest(99)] == ["r5", "r4", "r3", "still running"]


async def test_a_run_with_nothing_to_tell_can_be_dropped(ledger: Ledger) -> None:
    await ledger.begin(RUN)
    await ledger.drop("r1")

    assert await ledger.newest(10) == []


async def test_somebody_elsewhere_can_ask_for_the_end_of_a_run(opens: Opens) -> None:
    ours, theirs = Ledger(opens(), "acme"), Ledger(opens(), "acme")
    await ours.begin(RUN)

    await theirs.cancel("r1")

    assert await ours.write(RUN)


async def test_a_run_of_a_process_that_died_is_interrupted_at_once(
    ledger: Ledger, address: str
) -> None:
    await written_by_the_dead(address)

    assert await states(ledger) == ["interrupted"]
    assert await ledger.active() == []
    (dead,) = await ledger.interrupted()
    await ledger.settle([replace(dead, resumed_as=("r2",))])
    assert await ledger.interrupted() == []
    assert await ledger.get("r1") == replace(RUN, state="interrupted", resumed_as=("r2",))


async def test_of_many_processes_one_takes_over_what_a_dead_one_left(
    opens: Opens, address: str
) -> None:
    await written_by_the_dead(address)
    replicas = [OnAHost(opens(), f"host{number}") for number in range(6)]

    taken = await asyncio.gather(*(each.interrupted() for each in replicas))

    assert sorted(len(each) for each in taken) == [0, 0, 0, 0, 0, 1]


async def test_a_process_that_was_taken_for_dead_is_told_to_stop(opens: Opens) -> None:
    database = opens()
    ours, theirs = Ledger(database, "acme"), Ledger(database, "acme")
    await ours.begin(RUN)
    silent = update(RUNS).values(beat=RUNS.c.beat - SILENT_SECONDS - 1)
    await database.run(lambda connection: connection.execute(silent))

    (taken,) = await theirs.interrupted()

    assert taken.id == "r1"
    assert await ours.write(RUN)
    assert await ours.write(replace(RUN, state="done"))
    assert await theirs.get("r1") == RUN


async def test_a_run_on_another_host_lives_as_long_as_it_is_told_of(opens: Opens) -> None:
    database = opens()
    elsewhere = update(RUNS).values(owner="elsewhere/1/x")
    ledger = Ledger(database, "acme")
    await ledger.begin(RUN)
    await database.run(lambda connection: connection.execute(elsewhere))

    assert await states(Ledger(database, "acme")) == ["running"]


async def test_a_run_of_the_same_process_number_started_anew_is_interrupted(opens: Opens) -> None:
    """In a container every server has the number 1."""
    await Ledger(opens(), "acme").begin(RUN)

    assert await states(Ledger(opens(), "acme")) == ["interrupted"]


def test_a_process_is_never_called_twice_the_same() -> None:
    assert owner_here() != owner_here()


async def test_it_remembers_what_fills_a_space_and_since_when(ledger: Ledger) -> None:
    folder = FolderEntry("/srv/wiki", (("group:hr",),), "https://wiki.example.com/")
    again = (Retry("12345/att6", 2),)
    synced = Synced(WHEN, WHEN, RUN.failures, whole_at=WHEN, watermark='{"at":1}', again=again)

    await ledger.note_folder("HR", folder)
    await ledger.change_synced("HR", lambda _: synced)
    assert await ledger.folders() == {"HR": folder}
    assert await ledger.synced() == {"HR": synced}

    await ledger.forget("HR")
    assert await ledger.folders() == {}
    assert await ledger.synced() == {}


async def test_two_who_change_what_is_known_of_a_space_lose_nothing(opens: Opens) -> None:
    ledgers = [Ledger(opens(), "acme") for _ in range(4)]
    await ledgers[0].change_synced("HR", lambda _: Synced(WHEN, WHEN))

    def one_more(before: Synced | None) -> Synced:
        assert before
        return replace(before, again=(*before.again, Retry("p", 1)))

    await asyncio.gather(*(each.change_synced("HR", one_more) for each in ledgers * 3))

    assert len((await ledgers[0].synced())["HR"].again) == 12


async def test_a_damaged_file_is_told_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "ingestion.sqlite").write_bytes(b"no database" * 1000)

    with pytest.raises(LedgerUnavailable, match="move it away"):
        await Ledger(sqlite_in(tmp_path), "acme").newest(1)


async def test_what_is_told_late_does_not_begin_an_ended_run_again(ledger: Ledger) -> None:
    await ledger.begin(RUN)
    await ledger.write(replace(RUN, state="done"))
    await ledger.write(RUN)

    assert await states(ledger) == ["done"]
    assert not await ledger.active()


@pytest.mark.mended(id="tests-following")
async def test_progress_written_after_a_run_was_dropped_does_not_revive_it(ledger: Ledger) -> None:
    await ledger.begin(RUN)
    await ledger.drop(RUN.id)

    assert not await ledger.write(RUN)
    assert not await ledger.active()

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

from ingestion.errors import LedgerUnavailable
from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import Failure, FolderEntry, Run, Synced

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
)
DEAD = """
import asyncio, sys
from pathlib import Path
from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from tests.ingestion.records.test_ledger import RUN
asyncio.run(Ledger(sqlite_in(Path(sys.argv[1])), "acme").write(RUN))
"""


async def states(ledger: Ledger) -> Sequence[str]:
    return [run.state for run in await ledger.newest(10)]


async def test_a_run_is_told_to_all_processes_as_it_was_written(tmp_path: Path) -> None:
    ours, theirs = Ledger(sqlite_in(tmp_path), "acme"), Ledger(sqlite_in(tmp_path), "acme")

    assert not await ours.write(RUN)

    assert await ours.newest(10) == [RUN]
    assert await Ledger(sqlite_in(tmp_path), "other").newest(10) == []
    assert await ours.get("r1") == RUN
    assert await theirs.get("gone") is None


async def test_the_newest_come_first_and_the_oldest_are_forgotten(tmp_path: Path) -> None:
    ledger = Ledger(sqlite_in(tmp_path), "acme")
    for number in range(5):
        await ledger.write(replace(RUN, id=f"r{number}", state="done"))

    assert [run.id for run in await ledger.newest(2)] == ["r4", "r3"]


async def test_somebody_elsewhere_can_ask_for_the_end_of_a_run(tmp_path: Path) -> None:
    ours, theirs = Ledger(sqlite_in(tmp_path), "acme"), Ledger(sqlite_in(tmp_path), "acme")
    await ours.write(RUN)

    await theirs.cancel("r1")

    assert await ours.write(RUN)


async def test_a_run_of_a_process_that_died_is_interrupted_at_once(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    dying = [sys.executable, "-c", DEAD, str(tmp_path)]
    await asyncio.to_thread(subprocess.run, dying, check=True, env=environment)
    ledger = Ledger(sqlite_in(tmp_path), "acme")

    assert await states(ledger) == ["interrupted"]
    assert await ledger.active() == []
    (dead,) = await ledger.interrupted()
    await ledger.settle([replace(dead, resumed_as=("r2",))])
    assert await ledger.interrupted() == []
    assert await ledger.get("r1") == replace(RUN, state="interrupted", resumed_as=("r2",))


async def test_a_run_of_the_same_process_number_started_anew_is_interrupted(
    tmp_path: Path,
) -> None:
    """In a container every server has the number 1."""
    await Ledger(sqlite_in(tmp_path), "acme").write(RUN)

    assert await states(Ledger(sqlite_in(tmp_path), "acme")) == ["interrupted"]


async def test_it_remembers_what_fills_a_space_and_since_when(tmp_path: Path) -> None:
    ledger = Ledger(sqlite_in(tmp_path), "acme")
    folder = FolderEntry("/srv/wiki", (("group:hr",),), "https://wiki.example.com/")
    synced = Synced(WHEN, WHEN, RUN.failures)

    await ledger.note_folder("HR", folder)
    await ledger.note_synced("HR", synced)
    assert await ledger.folders() == {"HR": folder}
    assert await ledger.synced() == {"HR": synced}

    await ledger.forget("HR")
    assert await ledger.folders() == {}
    assert await ledger.synced() == {}


async def test_a_damaged_file_is_told_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "ingestion.sqlite").write_bytes(b"no database" * 1000)

    with pytest.raises(LedgerUnavailable, match="move it away"):
        await Ledger(sqlite_in(tmp_path), "acme").newest(1)


async def test_what_is_told_late_does_not_begin_an_ended_run_again(tmp_path: Path) -> None:
    ledger = Ledger(sqlite_in(tmp_path), "acme")
    await ledger.write(RUN)
    await ledger.write(replace(RUN, state="done"))
    await ledger.write(RUN)

    assert await states(ledger) == ["done"]
    assert not await ledger.active()

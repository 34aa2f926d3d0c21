"""Worker processes: one for job after job, and none that outlives its use."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingestion.errors import IngestionError, SourceUnavailable
from ingestion.records.database import sqlite_in
from ingestion.records.ledger import Ledger
from ingestion.records.types import FolderEntry, Run
from ingestion.runs.worker import Job, serve
from ingestion.runs.worker_pool import WorkerPool
from ingestion.sync.report import NoProgress

EVERYBODY = (("everyone",),)


def over(space: str) -> Run:
    return Run(
        id=space,
        space=space,
        dry_run=False,
        allow_mass_delete=False,
        by="test",
        state="running",
        created_at=datetime.now(UTC),
    )


def workers() -> set[int]:
    """Return the worker processes that this one started and that live."""
    told = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {int(each) for each in told if b"ingestion.runs.worker" in _command(each)}


def _command(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


async def until_there_are(number: int) -> set[int]:
    async with asyncio.timeout(30):
        while len(there := workers()) != number:  # noqa: ASYNC110 - processes tell nothing
            await asyncio.sleep(0.01)
    return there


@pytest.fixture
async def spaces(tmp_path: Path) -> list[str]:
    ledger = Ledger(sqlite_in(tmp_path), "acme")
    for space in ("HR", "IT"):
        folder = tmp_path / space
        folder.mkdir()
        (folder / "a.md").write_text(f"# {space}\n\nSome words.\n")
        await ledger.note_folder(space, FolderEntry(str(folder), EVERYBODY))
    await ledger.note_folder("GONE", FolderEntry(str(tmp_path / "gone"), EVERYBODY))
    return ["HR", "IT"]


@pytest.fixture
async def work(tmp_path: Path) -> AsyncIterator[WorkerPool]:
    made = WorkerPool(tmp_path, "acme", 1000)
    yield made
    await made.close()
    assert workers() == set()


async def test_one_process_does_job_after_job_also_after_one_that_failed(
    work: WorkerPool, spaces: list[str]
) -> None:
    first = await work("HR", NoProgress(), over("HR"))
    there = workers()
    with pytest.raises(SourceUnavailable):
        await work("GONE", NoProgress(), over("GONE"))
    second = await work("IT", NoProgress(), over("IT"))

    assert [first.added, second.added] == [("a.md",), ("a.md",)]
    assert len(there) == 1
    assert workers() == there
    assert (await work("HR", NoProgress(), over("HR"))).unchanged == 1
    assert spaces


@pytest.mark.usefixtures("spaces")
async def test_a_worker_without_a_job_goes(tmp_path: Path) -> None:
    work = WorkerPool(tmp_path, "acme", 1000, resting_seconds=0.01)

    await work("HR", NoProgress(), over("HR"))

    await until_there_are(0)
    await work.close()


@pytest.mark.usefixtures("spaces")
async def test_a_worker_that_died_at_rest_is_replaced(work: WorkerPool) -> None:
    await work("HR", NoProgress(), over("HR"))
    (died,) = workers()
    os.kill(died, signal.SIGKILL)

    report = await work("IT", NoProgress(), over("IT"))

    assert report.added == ("a.md",)
    assert died not in workers()


@pytest.mark.parametrize(
    "said",
    [
        """printf '{"report": {"spa'""",
        "echo Warning: something is old",
        "echo '[]'",
        """echo '{"report": {"space": 1}, "stays": true}'; read next""",
        "head -c 70000000 /dev/zero",
    ],
    ids=["half a line", "no JSON", "no object", "no report", "no end"],
)
async def test_what_a_worker_should_not_say_is_the_end_of_its_job_alone(
    work: WorkerPool, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talks = tmp_path / "talks"
    talks.write_text(f"#!/bin/sh\nread job\necho '{{}}'\n{said}\n")
    talks.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(talks))

    with pytest.raises(IngestionError, match="ended early"):
        await work("HR", NoProgress(), over("HR"))


@pytest.mark.usefixtures("spaces")
async def test_a_job_that_is_stopped_takes_its_worker_along(work: WorkerPool) -> None:
    working = asyncio.create_task(work("HR", NoProgress(), over("HR")))
    (stopped,) = await until_there_are(1)
    working.cancel()
    await asyncio.wait([working])

    assert workers() == set()
    assert (await work("HR", NoProgress(), over("HR"))).space == "HR"
    assert stopped not in workers()


@pytest.mark.usefixtures("spaces")
async def test_two_jobs_at_a_time_have_a_worker_each_when_the_first_takes_long(
    work: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.runs.worker_pool._PATIENCE_SECONDS", 0.01)
    both = [asyncio.create_task(work(each, NoProgress(), over(each))) for each in ("HR", "IT")]

    await until_there_are(2)

    assert {(await each).added for each in both} == {("a.md",)}


@pytest.mark.usefixtures("spaces")
async def test_a_job_waits_a_little_for_a_worker_rather_than_start_another(
    work: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.runs.worker_pool._PATIENCE_SECONDS", 60)

    async with asyncio.TaskGroup() as tasks:
        for each in ("HR", "IT"):
            tasks.create_task(work(each, NoProgress(), over(each)))

    assert len(workers()) == 1


class Patient:
    """Does nothing until it is let on; notes what it was asked."""

    def __init__(self, jobs: int) -> None:
        self.spaces: list[str] = []
        self.on = asyncio.Event()
        self.begun = asyncio.Event()
        self._jobs = jobs

    async def work(self, job: Job) -> bool:
        self.begun.set()
        await self.on.wait()
        self.spaces.append(job.space)
        return len(self.spaces) < self._jobs


def line(space: str) -> bytes:
    return (
        b'{"data_dir": ".", "tenant": "t", "space": "%s", "dry_run": false, ' % space.encode()
        + (b'"allow_mass_delete": false, "largest": 1}\n')
    )


async def test_a_worker_stops_in_the_midst_when_its_server_is_gone() -> None:
    lines, patient = asyncio.StreamReader(), Patient(9)
    serving = asyncio.create_task(serve(lines, patient.work))
    lines.feed_data(line("HR"))
    await patient.begun.wait()
    lines.feed_eof()

    async with asyncio.timeout(60):
        await serving
    assert patient.spaces == []


async def test_a_worker_takes_so_many_jobs_and_no_more() -> None:
    lines, patient = asyncio.StreamReader(), Patient(2)
    patient.on.set()
    for space in ("A", "B", "C"):
        lines.feed_data(line(space))

    async with asyncio.timeout(60):
        await serve(lines, patient.work)
    assert patient.spaces == ["A", "B"]


async def test_a_worker_does_one_job_at_least_whatever_it_holds() -> None:
    lines, patient = asyncio.StreamReader(), Patient(0)
    patient.on.set()
    lines.feed_data(line("A") + line("B"))

    async with asyncio.timeout(60):
        await serve(lines, patient.work)
    assert patient.spaces == ["A"]


def test_what_a_large_server_holds_does_not_count_for_its_workers() -> None:
    """What the kernel says of a child's usage begins with its parent's."""
    held = b"x" * (400 * 1024**2)
    code = "from ingestion.runs.worker import peak_memory_bytes; print(peak_memory_bytes())"

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert 0 < int(told.stdout) < len(held)


async def test_a_worker_without_its_server_goes_though_a_thread_is_busy(tmp_path: Path) -> None:
    folder = tmp_path / "IT"
    folder.mkdir()
    (folder / "long.md").write_text("para graph.\n\n" * 1_200_000)  # far more than 20 seconds
    await Ledger(sqlite_in(tmp_path), "acme").note_folder("IT", FolderEntry(str(folder), EVERYBODY))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ingestion.runs.worker"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    job = Job(
        data_dir=tmp_path,
        tenant="acme",
        space="IT",
        dry_run=False,
        allow_mass_delete=False,
        largest=10**8,
    )
    process.stdin.write(f"{job.model_dump_json()}\n".encode())
    while b"begin" not in await process.stdout.readline():
        pass

    process.stdin.close()

    try:
        async with asyncio.timeout(20):
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()

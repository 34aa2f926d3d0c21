"""One run at a time on a space, across processes and hosts, by a table or by file locks."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import update

from ingestion.errors import LeaseLost, LedgerUnavailable, RunInProgress
from ingestion.records.database import LEASES, Database
from ingestion.records.leases import FileLeases, Leases, TableLeases, file_lease
from tests.unit.ingestion.records.conftest import Opens

HOLD = """
import asyncio, sys
from ingestion.records.database import Database
from ingestion.records.leases import TableLeases
async def hold():
    async with TableLeases(Database(sys.argv[1]), "acme").held("HR"):
        print("held", flush=True)
        await asyncio.sleep(60)
asyncio.run(hold())
"""


async def expire(database: Database) -> None:
    """Let all leases end, as if nobody had renewed them for long."""
    past = update(LEASES).values(expires=database.now - 1, owner="elsewhere/1/x")
    await database.run(lambda connection: connection.execute(past))


@pytest.fixture(params=["file", "table"])
def leases(request: pytest.FixtureRequest, tmp_path: Path, opens: Opens) -> Callable[[str], Leases]:
    if request.param == "file":
        return lambda tenant: FileLeases(tmp_path, tenant)
    return lambda tenant: TableLeases(opens(), tenant)


async def test_a_space_is_held_once(leases: Callable[[str], Leases]) -> None:
    ours, theirs, others = leases("acme"), leases("acme"), leases("other")
    async with ours.held("HR") as confirm:
        await confirm()
        assert await theirs.busy("HR")
        with pytest.raises(RunInProgress, match="'HR'"):
            async with theirs.held("HR"):
                pass
        async with theirs.held("IT"), others.held("HR"):
            assert await ours.busy("IT")
    assert not await theirs.busy("HR")
    async with theirs.held("HR"):
        pass


async def test_of_many_who_ask_at_once_one_holds(opens: Opens) -> None:
    everybody = [TableLeases(opens(), "acme") for _ in range(8)]
    refused = asyncio.Semaphore(0)

    async def hold(one: Leases) -> str:
        try:
            async with one.held("HR"):
                for _ in everybody[1:]:
                    await refused.acquire()
        except RunInProgress:
            refused.release()
            return "refused"
        return "held"

    assert sorted(await asyncio.gather(*map(hold, everybody))) == ["held", *["refused"] * 7]


@asynccontextmanager
async def another_process(address: str) -> AsyncIterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    holding = [sys.executable, "-c", HOLD, address]
    pipe = subprocess.PIPE
    with subprocess.Popen(holding, env=environment, stdout=pipe, text=True) as holder:  # noqa: ASYNC220 - a test's
        assert holder.stdout
        assert await asyncio.to_thread(holder.stdout.readline) == "held\n"
        yield holder
        holder.kill()


async def test_a_process_that_was_killed_on_this_host_lets_go_at_once(
    opens: Opens, address: str
) -> None:
    ours = TableLeases(opens(), "acme")
    async with another_process(address) as holder:
        assert await ours.busy("HR")
        holder.kill()
        await asyncio.to_thread(holder.wait)

        assert not await ours.busy("HR")
        async with ours.held("HR"):
            pass


async def test_what_a_dead_host_held_is_free_when_its_time_is_over(opens: Opens) -> None:
    database = opens()
    ours = TableLeases(database, "acme")
    elsewhere = update(LEASES).values(owner="elsewhere/1/x")
    async with ours.held("HR"):
        await database.run(lambda connection: connection.execute(elsewhere))
        with pytest.raises(RunInProgress, match="'elsewhere'"):
            async with TableLeases(database, "acme").held("HR"):
                pass
        await expire(database)

        async with TableLeases(database, "acme").held("HR"):
            pass


async def test_a_lease_is_renewed_as_long_as_it_is_held(opens: Opens) -> None:
    ours = TableLeases(opens(), "acme", lasting=0.5, every=0.05, sure=0.2)
    async with ours.held("HR") as confirm:
        for _ in range(6):
            await asyncio.sleep(0.2)
            await confirm()
        assert await TableLeases(opens(), "acme").busy("HR")


async def test_who_lost_a_lease_is_stopped_and_confirms_nothing(opens: Opens) -> None:
    database = opens()
    lost = TableLeases(database, "acme", every=0.05)

    async def lose() -> None:
        async with lost.held("HR"):
            await expire(database)
            async with TableLeases(database, "acme").held("HR"):
                await asyncio.sleep(30)
                pytest.fail("It went on.")

    with pytest.raises(LeaseLost, match="'HR'"):
        await lose()


async def test_who_stood_still_asks_before_it_writes(opens: Opens) -> None:
    """Its renewal stood still as well, so that nothing has stopped it."""
    database = opens()
    async with TableLeases(database, "acme", every=3600, sure=0.0).held("HR") as confirm:
        await confirm()
        await expire(database)
        async with TableLeases(database, "acme").held("HR"):
            with pytest.raises(LeaseLost):
                await confirm()


async def test_who_stood_still_goes_on_when_nobody_took_its_place(opens: Opens) -> None:
    database = opens()
    late = update(LEASES).values(expires=database.now - 1)
    async with TableLeases(database, "acme", every=3600, sure=0.0).held("HR") as confirm:
        await database.run(lambda connection: connection.execute(late))

        await confirm()


async def test_what_can_not_be_confirmed_is_not_written(address: str, opens: Opens) -> None:
    database = opens()
    leases = TableLeases(database, "acme", every=3600, sure=0.0)

    async def away(*_: object) -> object:
        raise LedgerUnavailable("The server is away.")

    async with leases.held("HR") as confirm:
        whole, database.run = database.run, away  # type: ignore[assignment,method-assign]
        with pytest.raises(LeaseLost):
            await confirm()
        database.run = whole  # type: ignore[method-assign]


async def test_a_run_that_is_cancelled_lets_go(opens: Opens) -> None:
    ours = TableLeases(opens(), "acme")
    holding = asyncio.Event()

    async def hold() -> None:
        async with ours.held("HR"):
            holding.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(hold())
    await holding.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not await ours.busy("HR")


HOLD_FILE_LOCK = """
import sys, time
from pathlib import Path
from ingestion.records.leases import file_lease
with file_lease(Path(sys.argv[1]), "acme", "HR"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_file_lock_holds_a_space_once(tmp_path: Path) -> None:
    with file_lease(tmp_path, "acme", "HR"):
        with pytest.raises(RunInProgress, match="'HR'"), file_lease(tmp_path, "acme", "HR"):
            pass
        with file_lease(tmp_path, "acme", "IT"), file_lease(tmp_path, "other", "HR"):
            pass
    with file_lease(tmp_path, "acme", "HR"):
        pass


def test_a_killed_process_lets_go(tmp_path: Path) -> None:
    holder = subprocess.Popen(  # our own script
        [sys.executable, "-c", HOLD_FILE_LOCK, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunInProgress), file_lease(tmp_path, "acme", "HR"):
            pass
        holder.kill()
        holder.wait()

    with file_lease(tmp_path, "acme", "HR"):
        pass


def test_a_folder_that_takes_no_writes_is_not_taken_for_another_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(LedgerUnavailable, match="disk"),
        file_lease(tmp_path / "file", "acme", "HR"),
    ):
        pass

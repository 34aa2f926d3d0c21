"""The records' schema is migrated, and a worker process uses the same records."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, select, text

from ingestion.config import load_settings
from ingestion.errors import LedgerUnavailable
from ingestion.folder import LARGEST_FILE
from ingestion.records.database import HEAD, METADATA, Database, sqlite_in
from ingestion.records.ledger import Ledger, records_of
from ingestion.records.migrations import STEPS
from ingestion.records.types import FolderEntry, Run, Synced
from ingestion.runs.background import Runs
from ingestion.runs.source_registry import open_sources
from ingestion.runs.worker_pool import WorkerPool
from ingestion.types import Extent, Progress, Report
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site
from tests.fakes.search_service.service import SearchService
from tests.sweeps.syncing.follower import TENANT, environment, settings_for
from tests.unit.ingestion.records.conftest import Opens

WHEN = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
OLDER = """
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL,
    active INTEGER NOT NULL, owner TEXT NOT NULL, beat REAL NOT NULL,
    cancel INTEGER NOT NULL DEFAULT 0, body TEXT NOT NULL
);
CREATE TABLE synced (
    tenant TEXT NOT NULL, space TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (tenant, space)
);
CREATE TABLE sources (
    tenant TEXT NOT NULL, space TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (tenant, space)
);
INSERT INTO runs (id, tenant, active, owner, beat, body) VALUES ('r1', 'acme', 1, 'host/1/x', 1.5,
    '{"id":"r1","space":"HR","dry_run":false,"allow_mass_delete":false,"by":"anna",
      "state":"running","created_at":"2026-11-22T12:00:00Z"}');
INSERT INTO synced VALUES ('acme', 'HR',
    '{"started_at":"2026-11-22T12:00:00Z","ended_at":"2026-11-22T12:00:00Z","failures":[]}');
INSERT INTO sources VALUES ('acme', 'HR', '{"path":"/srv","readers":[["everyone"]]}');
"""


async def test_a_file_of_an_older_version_keeps_what_it_holds(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ingestion.sqlite")) as older:
        older.executescript(OLDER)
    ledger = Ledger(sqlite_in(tmp_path), "acme")

    assert await ledger.folders() == {"HR": FolderEntry("/srv", (("everyone",),))}
    assert await ledger.synced() == {"HR": Synced(WHEN, WHEN)}
    (dead,) = await ledger.interrupted()
    assert (dead.id, dead.extent, dead.page) == ("r1", "all", "")
    await ledger.settle([dead])
    assert [run.state for run in await ledger.newest(5)] == ["interrupted"]


async def test_the_steps_make_the_tables_that_are_meant(opens: Opens) -> None:
    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        found = compare_metadata(context, METADATA)
        return [one for one in found if "ingestion_version" not in repr(one)]

    assert await opens().run(differences) == []
    assert list(STEPS)[-1] == HEAD


async def test_every_table_says_whose_it_is(opens: Opens) -> None:
    """The bot's are in the same database."""
    names = await opens().run(lambda connection: inspect(connection).get_table_names())

    assert {name.partition("_")[0] for name in names if not name.startswith("sqlite")} == {
        "ingestion"
    }


async def test_many_who_start_together_make_the_tables_once(opens: Opens) -> None:
    ledgers = [Ledger(opens(), "acme") for _ in range(6)]

    assert await asyncio.gather(*(each.newest(1) for each in ledgers)) == [[]] * 6


async def test_tables_of_a_newer_version_are_left_alone(opens: Opens) -> None:
    newer = text("UPDATE ingestion_version SET revision = '9999'")
    await opens().run(lambda connection: connection.execute(newer))

    with pytest.raises(LedgerUnavailable, match=r"'9999'.*or a newer one"):
        await Ledger(opens(), "acme").newest(1)


async def test_a_file_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    ledger = Ledger(sqlite_in(tmp_path), "acme")
    await ledger.change_synced("HR", lambda _: Synced(WHEN, WHEN))
    (tmp_path / "ingestion.sqlite").rename(tmp_path / "away")

    assert await ledger.synced() == {}


async def test_a_server_that_is_away_is_told_without_its_password() -> None:
    database = Database("postgresql://frontdesk:hunter2@127.0.0.1:1/records?password=hunter3")

    with pytest.raises(LedgerUnavailable, match="DATABASE_URL") as told:
        await Ledger(database, "acme").newest(1)
    assert "hunter" not in str(told.value)
    database.close()


async def test_the_clock_is_the_databases(opens: Opens) -> None:
    database = opens()

    at = await database.run(lambda connection: connection.scalar(select(database.now)))

    assert at is not None
    assert abs(at - datetime.now(UTC).timestamp()) < 60


@pytest.fixture(params=["file", "server"])
async def where(request: pytest.FixtureRequest) -> AsyncIterator[dict[str, str]]:
    """What names the index and, for one on a server, the database of the records."""
    if request.param == "file":
        yield {}
        return
    address = cast("str", request.getfixturevalue("postgres_address"))
    async with SearchService().serving() as service:
        yield {
            "DATABASE_URL": address,
            "AZURE_SEARCH_ENDPOINT": service.url,
            "AZURE_SEARCH_KEY": service.access.admin_key,
        }


async def test_what_changed_since_and_what_failed_is_looked_at_and_no_more(
    where: dict[str, str], tmp_path: Path
) -> None:
    site = Site()
    site.add_space("IT", anonymous=True)
    pages = [site.create("IT", f"Page {each}", f"<p>Text {each}.</p>").id for each in range(5)]
    site.pass_time(7200)
    async with LocalConfluence(site, "cloud").serving() as server:
        with environment({**settings_for(server, tmp_path), **where}):
            async with background_runs() as run_over:
                whole = await run_over("all")
                server.requests.clear()
                quiet = await run_over("changes")
                read = server.count("page")

                file = site.attach(pages[0], "broken.pdf", b"%PDF-broken")
                site.edit(pages[0], "<p>Other words.</p>")
                broken = await run_over("changes")
                site.pass_time(7200)
                again = await run_over("changes")

    assert len(whole.added) == 5
    assert (quiet.extent, quiet.within, read) == ("changes", (), 0)
    assert broken.changed == (pages[0],)
    assert [one.page for one in broken.failed] == [f"{pages[0]}/{file.id}"]
    assert again.within == (pages[0],)
    assert again.changed == ()
    assert [one.page for one in again.failed] == [f"{pages[0]}/{file.id}"]


RunOver = Callable[[Extent], Awaitable[Report]]
"""Runs over the space as a server does, and returns the worker's report."""


@asynccontextmanager
async def background_runs() -> AsyncIterator[RunOver]:
    """Open what runs need; their worker stays from one to the next, as in a server."""
    settings = load_settings()
    records = records_of(settings, settings.database_url)
    work = WorkerPool(settings.data_dir, TENANT, LARGEST_FILE, records.leases)
    reports: list[Report] = []

    async def kept(space: str, progress: Progress, run: Run) -> Report:
        reports.append(await work(space, progress, run))
        return reports[-1]

    async with open_sources(settings, records) as sources:
        runs = Runs(records.ledger, sources, kept)

        async def run_over(extent: Extent) -> Report:
            reports.clear()
            await runs.start("IT", by="test", extent=extent)
            await runs.settled()
            (report,) = reports
            return report

        try:
            yield run_over
        finally:
            await work.close()
            records.close()

"""Frontdesk following a changing wiki: its records, index, runs and commands, all real."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import (
    asynccontextmanager,
    chdir,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
)
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from structlog.testing import capture_logs

from ingestion.__main__ import main
from ingestion.config import Settings, load_settings
from ingestion.confluence.client.retry import RetryLimits
from ingestion.confluence.permissions import rules_of
from ingestion.confluence.person_finder import PersonFinder, open_finder
from ingestion.confluence.source import ConfluenceSources
from ingestion.folder import LARGEST_FILE
from ingestion.records.ledger import Records, records_of
from ingestion.records.types import Run
from ingestion.runs.background import Runs
from ingestion.runs.source_registry import KnownSources
from ingestion.runs.tracking import pages_to_retry
from ingestion.runs.worker_pool import WorkerPool
from ingestion.sync.sync import SyncScope, sync_source
from ingestion.types import Extent, Progress, Report
from ingestion.uploads import Uploads
from rag.factory import open_embedder, open_search_index
from rag.ports import Embedder, SearchIndex
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN
from tests.fakes.confluence.tokens import wiki_at
from tests.fakes.model_server import KEY, embeds, openai_server
from tests.fork_server import ROOT

FAST = RetryLimits(attempts=6, deadline_seconds=60, first_wait_seconds=0.01, jitter_seconds=0.01)
TENANT = "acme"


@dataclass
class Follower:
    """What brings an index up to date. ``apart``: in a process of its own, which can be killed."""

    settings: Settings
    index: SearchIndex
    embedder: Embedder
    people: PersonFinder
    sources: KnownSources
    records: Records
    apart: bool = False
    reports: list[Report] = field(default_factory=list)
    _runs: Runs = field(init=False)

    def __post_init__(self) -> None:
        self._runs = Runs(self.records.ledger, self.sources, self._work)
        self._workers = WorkerPool(
            self.settings.data_dir, TENANT, LARGEST_FILE, self.records.leases
        )

    async def start(
        self, space: str | None, extent: Extent = "all", *, page: str = "", allow: bool = False
    ) -> str:
        """Begin a run; return its id."""
        self.reports.clear()
        return await self._runs.start(
            space, by="test", extent=extent, page=page, allow_mass_delete=allow
        )

    async def close(self) -> None:
        """End the processes that wait for more to do."""
        await self._workers.close()

    async def cancel(self, run_id: str) -> None:
        await self._runs.cancel(run_id)

    async def ended(self, run_id: str) -> Run:
        """Wait for the end of a run."""
        await self._runs.settled()
        run = await self._runs.get(run_id)
        assert run is not None
        return run

    async def _work(self, space: str, progress: Progress, run: Run) -> Report:
        work = self._workers if self.apart else self._here
        report = await work(space, progress, run)
        self.reports.append(report)
        return report

    async def _here(self, space: str, progress: Progress, run: Run) -> Report:
        """Do what ingestion.runs.worker does, in this process."""
        before = (await self.records.ledger.synced()).get(space)
        return await sync_source(
            await self.sources.source(space),
            self.index,
            self.embedder,
            tenant=TENANT,
            leases=self.records.leases,
            allow_mass_delete=run.allow_mass_delete,
            scope=SyncScope(
                run.extent,
                run.page,
                before.watermark if before else "",
                pages_to_retry(before),
            ),
            progress=progress,
        )


@asynccontextmanager
async def following(
    server: LocalConfluence, data_dir: Path, **more: str
) -> AsyncIterator[Follower]:
    """Open all that follows a Confluence, by settings that are in the environment meanwhile."""
    async with openai_server(embeds()) as vectors:
        names = {
            **settings_for(server, data_dir),
            "CONFLUENCE_DIRECTORY": str(_list_people(server, data_dir)),
            "EMBEDDING_MODEL": "small",
            "EMBEDDING_BASE_URL": vectors.url,
            "EMBEDDING_API_KEY": KEY,
            "EMBEDDING_DIMENSIONS": "8",
            **more,
        }
        with environment(names):
            settings = load_settings()
            async with opened(settings, server) as follower:
                yield follower


@asynccontextmanager
async def opened(settings: Settings, server: LocalConfluence) -> AsyncIterator[Follower]:
    """Open what the settings name; the wiki is asked with little patience."""
    wiki = wiki_at(server, patience=FAST)
    known = ConfluenceSources(wiki, url=server.url, rules=rules_of(settings))
    records = records_of(settings, settings.database_url)
    sources = KnownSources(Uploads(settings.data_dir, TENANT, LARGEST_FILE), records.ledger, known)
    try:
        async with open_embedder(settings) as (embedder, _), open_finder(settings, wiki) as people:
            assert embedder is not None
            index = await open_search_index(settings, embedder, write=True)
            follower = Follower(settings, index, embedder, people, sources, records)
            try:
                yield follower
            finally:
                await follower.close()
                await index.close()
    finally:
        records.close()
        await wiki.close()


def settings_for(server: LocalConfluence, data_dir: Path) -> dict[str, str]:
    """Return the variables by which a newcomer names a Confluence."""
    person = server.site.people[ADMIN]
    names = {
        "FRONTDESK_DATA_DIR": str(data_dir),
        "FRONTDESK_TENANT": TENANT,
        "CONFLUENCE_URL": server.url,
        "CONFLUENCE_TOKEN": person.token,
        "CONFLUENCE_EDITION": server.edition,
    }
    return {**names, "CONFLUENCE_EMAIL": person.email} if server.edition == "cloud" else names


def _list_people(server: LocalConfluence, data_dir: Path) -> Path:
    """Write who is whom there: half of them hide their address, and must be listed."""
    cloud = server.edition == "cloud"
    accounts = {
        person.email: person.account_id if cloud else person.user_key
        for person in server.site.people.values()
    }
    rows = ["email,account", *(",".join(each) for each in accounts.items())]
    path = data_dir / "people.csv"
    path.write_text("\n".join(rows))
    return path


@contextmanager
def environment(names: Mapping[str, str]) -> Iterator[None]:
    """Set variables until the block ends: processes that are started meanwhile have them, too."""
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@dataclass(frozen=True)
class Ended:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err

    def line(self, *words: str) -> str:
        """Return the one line with all these words."""
        (found,) = {line for line in self.said.splitlines() if all(w in line for w in words)}
        return found


async def ingest(folder: Path, names: Mapping[str, str], *arguments: str) -> Ended:
    """Run ``python -m ingestion`` in a folder, with these variables set.

    It has no process of its own, whose imports would take seconds.
    """
    out, err = StringIO(), StringIO()
    with (
        chdir(folder),
        environment({"PYTHONPATH": str(ROOT), **names}),
        capture_logs() as logged,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = await asyncio.to_thread(main, arguments)
    return Ended(code, out.getvalue(), "".join(f"{line}\n" for line in logged) + err.getvalue())

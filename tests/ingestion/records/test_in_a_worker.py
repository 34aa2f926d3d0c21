"""A worker finds watermark and failed pages in the records: a file's, and a server's with Azure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from ingestion.config import load_settings
from ingestion.ports import Progress
from ingestion.records.assembly import records_of
from ingestion.records.types import Run
from ingestion.runs.background import Runs
from ingestion.runs.source_registry import open_sources
from ingestion.runs.worker_pool import WorkerPool
from ingestion.sources.folder import LARGEST_FILE
from ingestion.types import Extent, Report
from tests.confluence.server import LocalConfluence
from tests.confluence.site import Site
from tests.search_service.service import SearchService
from tests.syncing.follower import TENANT, environment, settings_for


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
            whole = await ran("all")
            server.requests.clear()
            quiet = await ran("changes")
            read = server.count("page")

            file = site.attach(pages[0], "broken.pdf", b"%PDF-broken")
            site.edit(pages[0], "<p>Other words.</p>")
            broken = await ran("changes")
            site.pass_time(7200)
            again = await ran("changes")

    assert len(whole.added) == 5
    assert (quiet.extent, quiet.within, read) == ("changes", (), 0)
    assert broken.changed == (pages[0],)
    assert [one.page for one in broken.failed] == [f"{pages[0]}/{file.id}"]
    assert again.within == (pages[0],)
    assert again.changed == ()
    assert [one.page for one in again.failed] == [f"{pages[0]}/{file.id}"]


async def ran(extent: Extent) -> Report:
    """Run over the space as a server does, and return the worker's report."""
    settings = load_settings()
    records = records_of(settings)
    work = WorkerPool(settings.data_dir, TENANT, LARGEST_FILE, records.leases)
    reports: list[Report] = []

    async def kept(space: str, progress: Progress, run: Run) -> Report:
        reports.append(await work(space, progress, run))
        return reports[-1]

    try:
        async with open_sources(settings, records) as sources:
            runs = Runs(records.ledger, sources, kept)
            await runs.start("IT", by="test", extent=extent)
            await runs.settled()
    finally:
        await work.close()
        records.close()
    (report,) = reports
    return report

"""Runs over a part of a space, runs that lose their lease, and runs that are killed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ingestion.errors import LeaseLost, PageUnreadable, SpaceBlind
from ingestion.sync.report import NoProgress
from ingestion.sync.sync import SyncScope, sync
from ingestion.types import Document, Extent, Finding, Listing, Paragraph, Report, SourcePage
from rag.index.embedded.index import fingerprint_of, open_index
from rag.types import EVERYONE, Principal, Vectors
from tests.fakes.ingestion import MemoryIndex
from tests.fakes.rag_ports import WordEmbedder

ALL = (frozenset({EVERYONE}),)
HR = (frozenset({Principal("group:hr")}),)
STAFF = (frozenset({EVERYONE, Principal("group:hr")}),)


class Wiki:
    """A source in memory that lists changes and finds pages; notes how it was asked."""

    space, type, at_once = "HR", "wiki", 1

    def __init__(self, *ids: str) -> None:
        self.pages = {page_id: SourcePage(page_id, "1", ALL, f"/{page_id}") for page_id in ids}
        self.edited: set[str] = set()
        self.broken: set[str] = set()
        self.asked: list[str] = []

    def edit(self, page_id: str, **changed: object) -> None:
        page = self.pages[page_id]
        self.pages[page_id] = replace(page, version=f"{int(page.version) + 1}", **changed)  # type: ignore[arg-type]  # a test's own
        self.edited.add(page_id)

    async def list(self) -> Listing:
        self.asked.append("all")
        return Listing(tuple(self.pages.values()), watermark="w1")

    async def changes(self, watermark: str, again: Collection[str]) -> Listing:
        self.asked.append(f"changes since {watermark}, again {sorted(again)}")
        return self._part({*self.edited, *again}, "w2")

    async def list_page(self, page: str) -> Listing:
        self.asked.append(f"page {page}")
        return self._part({page}, "")

    async def read(self, page: SourcePage) -> Document:
        if page.id in self.broken:
            raise PageUnreadable("is broken; mend it")
        return Document(page.id, (Paragraph(f"Text {page.version} of {page.id}"),))

    def _part(self, ids: set[str], watermark: str) -> Listing:
        pages = tuple(self.pages[one] for one in sorted(ids) if one in self.pages)
        return Listing(pages, within=tuple(sorted(ids)), watermark=watermark)


class Desk:
    """A wiki, an index, an embedder."""

    def __init__(self, *ids: str) -> None:
        self.wiki = Wiki(*ids)
        self.index = MemoryIndex()
        self.embedder = WordEmbedder()

    async def run(
        self,
        extent: Extent = "all",
        *,
        page: str = "",
        watermark: str = "w1",
        again: Collection[str] = (),
        allow_mass_delete: bool = False,
        dry_run: bool = False,
    ) -> Report:
        self.index.changes.clear()
        return await sync(
            self.wiki,
            self.index,
            self.embedder,
            tenant="acme",
            scope=SyncScope(extent, page, watermark, again),
            allow_mass_delete=allow_mass_delete,
            dry_run=dry_run,
            progress=NoProgress(),
        )


@pytest.fixture
async def desk() -> Desk:
    made = Desk("1", "2", "3", "4")
    await made.run()
    made.wiki.asked.clear()
    return made


async def test_changes_write_what_was_edited_and_leave_the_rest(desk: Desk) -> None:
    desk.wiki.edit("2")
    del desk.wiki.pages["3"]

    report = await desk.run("changes", again=["4"])

    assert desk.wiki.asked == ["changes since w1, again ['4']"]
    assert (report.extent, report.watermark, report.within) == ("changes", "w2", ("2", "4"))
    assert (report.changed, report.removed) == (("2",), ())
    assert desk.index.changes == ["upsert 2"]


async def test_an_edited_page_that_is_gone_goes(desk: Desk) -> None:
    desk.wiki.edit("2")
    del desk.wiki.pages["2"]

    assert (await desk.run("changes")).removed == ("2",)


async def test_nothing_changed_costs_nothing(desk: Desk) -> None:
    before = desk.embedder.embedded

    report = await desk.run("changes")

    assert desk.index.changes == []
    assert desk.embedder.embedded == before
    assert (report.unchanged, report.watermark) == (0, "w2")


async def test_without_a_watermark_changes_are_looked_for_everywhere(desk: Desk) -> None:
    del desk.wiki.pages["3"]

    report = await desk.run("changes", watermark="")

    assert desk.wiki.asked == ["all"]
    assert (report.extent, report.within, report.removed) == ("all", None, ("3",))


async def test_one_page_is_read_and_no_other(desk: Desk) -> None:
    desk.wiki.edit("2")
    desk.wiki.edit("3")

    report = await desk.run("page", page="3")

    assert desk.wiki.asked == ["page 3"]
    assert (report.extent, report.changed) == ("page", ("3",))
    assert desk.index.changes == ["upsert 3"]


async def test_a_source_that_went_blind_keeps_its_space(desk: Desk) -> None:
    desk.wiki.pages.clear()

    with pytest.raises(SpaceBlind, match="none of the 4 pages of space 'HR'"):
        await desk.run()
    dry = await desk.run(dry_run=True)
    assert "none of the 4 pages" in dry.would_stop
    assert len(desk.index.stored) == 4

    assert len((await desk.run(allow_mass_delete=True)).removed) == 4


async def test_who_may_no_longer_read_comes_first_and_who_may_now_comes_last(desk: Desk) -> None:
    desk.wiki.edit("1", readers=STAFF)
    desk.wiki.pages["2"] = replace(desk.wiki.pages["2"], readers=STAFF)
    desk.wiki.edit("4", readers=HR)
    del desk.wiki.pages["3"]
    before = desk.embedder.embedded

    await desk.run()

    assert desk.index.changes == [
        "readers 4",
        "delete 3",
        "readers 1",
        "readers 2",
        "upsert 1",
        "upsert 4",
    ]
    assert desk.embedder.embedded == before + 2


async def test_new_readers_hold_even_when_the_new_text_can_not_be_read(desk: Desk) -> None:
    desk.wiki.edit("1", readers=HR)
    desk.wiki.broken.add("1")

    report = await desk.run("changes")

    assert report.failed == (Finding("1", "is broken; mend it"),)
    (chunk,) = desk.index.chunks("1")
    assert (chunk.readers, chunk.text) == (HR, "Text 1 of 1")


@pytest.mark.parametrize("writes", range(5))
async def test_a_run_that_lost_its_lease_writes_nothing_more(desk: Desk, writes: int) -> None:
    desk.wiki.edit("1", readers=HR)
    desk.wiki.edit("2")
    del desk.wiki.pages["3"]
    confirmed = 0

    async def confirm() -> None:
        nonlocal confirmed
        if confirmed == writes:
            raise LeaseLost("lost")
        confirmed += 1

    desk.index.changes.clear()
    run = sync(
        desk.wiki, desk.index, desk.embedder, tenant="acme", confirm=confirm, progress=NoProgress()
    )
    if writes < 4:
        with pytest.raises(LeaseLost):
            await run
    else:
        await run

    assert len(desk.index.changes) == writes


KILLED = """
import asyncio, sys
from pathlib import Path
from tests.unit.ingestion.sync.test_sync_extents import resumable
asyncio.run(resumable(Path(sys.argv[1]), stalls=True))
"""
PAGES = 60


class Counting(WordEmbedder):
    """An embedder that writes down each text; one that ``stalls`` answers once, and no more."""

    def __init__(self, file: Path, *, stalls: bool) -> None:
        super().__init__()
        self._file = file
        self._stalls = stalls

    async def embed(self, texts: Sequence[str]) -> Vectors:
        silent = self._stalls and self._file.exists()
        with self._file.open("a") as out:
            out.writelines(f"{text.splitlines()[-1]}\n" for text in texts)
        if silent:
            await asyncio.Event().wait()
        return await super().embed(texts)


async def resumable(folder: Path, *, stalls: bool) -> Report:
    """Sync some pages into an index on disk."""
    embedder = Counting(folder / "embedded", stalls=stalls)
    index = await open_index(folder / "index.sqlite", fingerprint_of(embedder))
    try:
        wiki = Wiki(*(f"{number:03}" for number in range(PAGES)))
        return await sync(wiki, index, embedder, tenant="acme", progress=NoProgress())
    finally:
        await index.close()


async def stored(folder: Path) -> set[str]:
    index = await open_index(folder / "index.sqlite", None)
    try:
        return set(await index.pages("acme", "HR"))
    finally:
        await index.close()


async def test_what_a_killed_run_had_finished_is_not_embedded_again(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    running = [sys.executable, "-c", KILLED, str(tmp_path)]
    embedded = tmp_path / "embedded"
    with subprocess.Popen(running, env=environment) as process:  # noqa: ASYNC220 - a test's
        async with asyncio.timeout(60):
            while not embedded.exists() or not await stored(tmp_path):  # noqa: ASYNC110 - in another process
                await asyncio.sleep(0.01)
        process.kill()
    finished = await stored(tmp_path)
    before = embedded.read_text().splitlines()
    embedded.unlink()

    report = await resumable(tmp_path, stalls=False)

    assert 0 < len(finished) < PAGES
    assert len(before) < PAGES + 64
    assert {f"Text 1 of {page}" for page in finished}.isdisjoint(embedded.read_text().splitlines())
    assert len(report.added) == PAGES - len(finished)
    assert len(await stored(tmp_path)) == PAGES

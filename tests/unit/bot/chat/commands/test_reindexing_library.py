"""Commands over the real library: a folder is read, killed, resumed and followed to its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from bot.chat.commands.command_texts import progress_text
from bot.chat.commands.reindexing import ReindexRuns
from bot.chat.commands.run_status import RunStatus, RunWatcher
from bot.chat.commands.types import (
    AllSpaces,
    PageByUrl,
    ReindexRequest,
    SpaceByName,
    Started,
    Target,
)
from ingestion.assembly import library_of, open_library
from ingestion.library import Library
from ingestion.records.database import sqlite_in
from ingestion.records.leases import FileLeases
from ingestion.records.ledger import Ledger
from ingestion.records.types import FolderEntry, Run
from ingestion.sync.sync import sync_source
from ingestion.types import Document, Listing, Progress, Report, Source, SourcePage
from rag.index.embedded.index import EmbeddedIndex, open_index
from tests.fakes.chat_commands import SLACK, MemoryAudits, command_caller

_FASTER = 50
"""A watch looks so many times more often than it would."""

PAGES, BEFORE_THE_KILL = 12, 4
BY = command_caller()
WIKI = ReindexRequest(SpaceByName("WIKI"))


class Halting:
    """A source that is read for some pages, and then stands still."""

    def __init__(self, inner: Source, pages: int) -> None:
        self._inner = inner
        self._left = pages

    @property
    def space(self) -> str:
        return self._inner.space

    @property
    def type(self) -> str:
        return self._inner.type

    @property
    def at_once(self) -> int:
        return self._inner.at_once

    async def list(self) -> Listing:
        return await self._inner.list()

    async def read(self, page: SourcePage) -> Document:
        if self._left == 0:
            await asyncio.Event().wait()
        self._left -= 1
        return await self._inner.read(page)


class Server:
    """The library of a server that can be killed and started again; implements GetRun by ``get``.

    ``reads`` is how many pages of a space are read before it stands still.
    """

    def __init__(self, index: EmbeddedIndex, data_dir: Path) -> None:
        self.reads = PAGES
        self._index = index
        self._data_dir = data_dir
        self._running = AsyncExitStack()
        self.library = self._made()

    async def get(self, run_id: str) -> Run | None:
        return await self.library.runs.get(run_id)

    async def start(self) -> None:
        self.library = self._made()
        await self._running.enter_async_context(open_library(self.library))

    async def kill(self) -> None:
        await self._running.aclose()

    async def order(self, order: ReindexRequest) -> str:
        orders = ReindexRuns(
            tenant="acme", documents=self.library, runs=self.library.runs, audits=MemoryAudits()
        )
        started = await orders.start(order, BY)
        assert isinstance(started, Started)
        return started.run_id

    async def follow(self, run_id: str) -> AsyncIterator[RunStatus]:
        watch = RunWatcher(
            self.get,
            pause=lambda seconds: asyncio.sleep(seconds / _FASTER),
            clock=lambda: time.monotonic() * _FASTER,
        )
        async for told in watch.follow(run_id):
            yield told

    async def ended(self, order: ReindexRequest) -> RunStatus:
        return [told async for told in self.follow(await self.order(order))][-1]

    def _made(self) -> Library:
        return library_of(
            self._index, tenant="acme", data_dir=self._data_dir, work=self._bring_up_to_date
        )

    async def _bring_up_to_date(self, space: str, progress: Progress, run: Run) -> Report:
        """Do here what a process of its own does otherwise."""
        return await sync_source(
            Halting(await self.library.sources.source(space), self.reads),
            self._index,
            None,
            tenant="acme",
            leases=FileLeases(self._data_dir, "acme"),
            dry_run=run.dry_run,
            allow_mass_delete=run.allow_mass_delete,
            progress=progress,
        )


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EmbeddedIndex]:
    opened = await open_index(tmp_path / "index.sqlite", None)
    yield opened
    await opened.close()


@pytest.fixture
async def wiki(tmp_path: Path) -> Path:
    """A folder that fills the space WIKI, with pages at addresses of their own."""
    folder = tmp_path / "wiki"
    folder.mkdir()
    for number in range(PAGES):
        (folder / f"{number}.md").write_text(f"# Page {number}\n\nText {number}.\n")
    entry = FolderEntry(str(folder), (("everyone",),), "https://wiki.example/it")
    await Ledger(sqlite_in(tmp_path), "acme").note_folder("WIKI", entry)
    return folder


@pytest.fixture
async def server(tmp_path: Path, index: EmbeddedIndex, wiki: Path) -> AsyncIterator[Server]:
    made = Server(index, tmp_path)
    await made.start()
    yield made
    await made.kill()


@pytest.mark.parametrize("target", [SpaceByName("wiki"), AllSpaces()])
async def test_a_run_that_is_killed_is_followed_by_its_first_id_to_its_end(
    server: Server, index: EmbeddedIndex, target: Target
) -> None:
    server.reads = BEFORE_THE_KILL
    run_id = await server.order(ReindexRequest(target))
    told: list[RunStatus] = []
    async with asyncio.timeout(30):
        async for each in server.follow(run_id):
            told.append(each)
            if each.pages == BEFORE_THE_KILL and server.reads < PAGES:
                await server.kill()
                server.reads = PAGES
                await server.start()

    last = told[-1]
    assert (last.run_id, last.state, last.ended, last.resumed) == (run_id, "done", True, True)
    assert (last.added, last.unchanged) == (PAGES - BEFORE_THE_KILL, BEFORE_THE_KILL)
    assert len(await index.pages("acme", "WIKI")) == PAGES
    assert "it was interrupted and resumed" in progress_text(last, SLACK).lower()


async def test_the_space_of_a_page_is_read_by_the_address_of_the_page(
    server: Server, index: EmbeddedIndex, wiki: Path
) -> None:
    await server.ended(WIKI)
    (wiki / "new.md").write_text("# New\n\nText.\n")

    last = await server.ended(
        ReindexRequest(PageByUrl("https://wiki.example/it/3.md?src=mail#top"))
    )

    assert (last.space, last.added, last.unchanged, last.chunks) == ("WIKI", 1, PAGES, 1)


async def test_the_brake_against_mass_deletion_is_told_and_let_go(
    server: Server, index: EmbeddedIndex, wiki: Path
) -> None:
    await server.ended(WIKI)
    for number in range(10):
        (wiki / f"{number}.md").unlink()

    dry = progress_text(await server.ended(replace(WIKI, dry_run=True)), SLACK)
    braked = await server.ended(WIKI)
    allowed = await server.ended(replace(WIKI, allow_mass_delete=True))

    assert "A real run would find: 10 removed, 2 pages unchanged" in dry
    assert "A real run would stop: 10 of 12 pages" in dry
    assert braked.state == "failed"
    assert "10 of 12 pages" in progress_text(braked, SLACK)
    for text in (dry, progress_text(braked, SLACK)):
        assert "If these pages should be removed: /reindex WIKI --allow-mass-delete." in text
        assert "run again with" not in text
    assert (allowed.state, allowed.removed) == ("done", 10)
    assert len(await index.pages("acme", "WIKI")) == 2

"""Pages are read several at once where reading is waiting, and all else stays as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from ingestion.errors import PageUnreadable, SourceUnavailable
from ingestion.sync.report import NoProgress
from ingestion.sync.sync import sync
from ingestion.types import Document, Listing, Paragraph, Report, SourcePage
from rag.types import EVERYONE
from tests.ingestion.fakes import MemoryIndex

ALL = (frozenset({EVERYONE}),)


@dataclass
class Wiki:
    """Twelve pages; the first of each batch that is asked for answers last."""

    space: str = "IT"
    type: str = "wiki"
    at_once: int = 4
    most: int = 0
    read_so_far: list[str] = field(default_factory=list)
    broken: Callable[[str], None] = lambda _: None
    under_way: int = 0
    _others: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def list(self) -> Listing:
        ids = [f"{number:02}" for number in range(12)]
        return Listing(tuple(SourcePage(each, "1", ALL, f"https://w/{each}") for each in ids))

    async def read(self, page: SourcePage) -> Document:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self._wait_for_others(int(page.id))
            self.broken(page.id)
            self.read_so_far.append(page.id)
            return Document(page.id, (Paragraph(f"Words of {page.id}."),))
        finally:
            self.under_way -= 1

    async def _wait_for_others(self, number: int) -> None:
        """Let the first three of four wait until the fourth was asked for."""
        async with self._others:
            self._others.notify_all()
            if self.at_once > 1 and number % 4 < 3:
                await self._others.wait()


async def into(index: MemoryIndex, wiki: Wiki) -> Report:
    async with asyncio.timeout(10):
        return await sync(wiki, index, None, tenant="acme", progress=NoProgress())


def written(index: MemoryIndex) -> list[str]:
    return [change.split()[-1] for change in index.changes if "readers" not in change]


@pytest.mark.parametrize("at_once", [1, 4])
async def test_pages_are_read_at_once_within_bounds_and_written_in_order(at_once: int) -> None:
    wiki, index = Wiki(at_once=at_once), MemoryIndex()

    report = await into(index, wiki)

    assert wiki.most == at_once
    assert len(report.added) == 12
    assert written(index) == [f"{number:02}" for number in range(12)]


async def test_pages_that_can_not_be_read_are_told_in_order_and_the_rest_goes_on() -> None:
    def broken(page: str) -> None:
        if page in {"01", "06"}:
            raise PageUnreadable("is broken")

    wiki, index = Wiki(broken=broken), MemoryIndex()
    report = await into(index, wiki)

    assert [one.page for one in report.failed] == ["01", "06"]
    assert len(written(index)) == 10


async def test_a_wiki_that_goes_away_ends_the_run_and_what_is_being_read() -> None:
    def broken(page: str) -> None:
        if page == "05":
            raise SourceUnavailable("The wiki is down.")

    wiki, index = Wiki(broken=broken), MemoryIndex()
    with pytest.raises(SourceUnavailable, match="down"):
        await into(index, wiki)

    assert written(index) == sorted(written(index))
    assert "11" not in wiki.read_so_far
    assert wiki.under_way == 0

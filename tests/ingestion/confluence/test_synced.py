"""A space of Confluence brought into an index: what is written, and what an unchanged one costs."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ingestion.confluence.rules import Rules
from ingestion.confluence.source import ConfluenceSource
from ingestion.sync.report import NoProgress, report_lines
from ingestion.sync.sync import sync
from ingestion.types import Extent, Report
from rag.types import EVERYONE
from tests.confluence.site import Site
from tests.confluence.society import ADMIN
from tests.ingestion.confluence.fakes import SiteWiki
from tests.ingestion.confluence.test_source import ANYBODY, INCLUDE
from tests.ingestion.fakes import MemoryIndex


@dataclass
class Synced:
    """A public space IT of ten pages, and the index that follows it."""

    site: Site = field(default_factory=Site)
    index: MemoryIndex = field(default_factory=MemoryIndex)
    watermark: str = ""
    hides_permissions: bool = False

    def __post_init__(self) -> None:
        self.site.add_space("IT", anonymous=True)
        self.pages = [
            self.site.create("IT", f"Page {number}", f"<p>Text of {number}.</p>").id
            for number in range(10)
        ]
        self.site.pass_time(7200)

    async def run(self, extent: Extent = "all") -> Report:
        wiki = SiteWiki(self.site, hides_permissions=self.hides_permissions)
        source = ConfluenceSource(wiki, "IT", Rules(), now=lambda: self.site.now)
        report = await sync(
            source,
            self.index,
            None,
            tenant="acme",
            extent=extent,
            watermark=self.watermark,
            progress=NoProgress(),
        )
        self.watermark = report.watermark
        return report


@pytest.fixture
async def synced() -> Synced:
    made = Synced()
    await made.run()
    return made


async def test_an_unchanged_space_writes_nothing(synced: Synced) -> None:
    for extent in ("changes", "all", "changes"):
        report = await synced.run(extent)
        assert (report.added, report.changed, report.removed, report.chunks) == ((), (), (), 0)


async def test_an_edit_is_found_by_the_changes_and_written_once(synced: Synced) -> None:
    synced.site.edit(synced.pages[3], "<p>Other words.</p>")

    report = await synced.run("changes")

    assert report.changed == (synced.pages[3],)
    assert [chunk.text for chunk in synced.index.chunks(synced.pages[3])] == ["Other words."]
    assert (await synced.run("changes")).changed == ()
    assert (await synced.run("all")).changed == ()


async def test_a_restriction_changes_readers_and_nothing_else(synced: Synced) -> None:
    synced.site.restrict(synced.pages[0], users=[ADMIN])

    report = await synced.run()

    assert report.readers_changed == (synced.pages[0],)
    assert (report.changed, report.chunks) == ((), 0)
    (chunk,) = synced.index.chunks(synced.pages[0])
    assert EVERYONE not in chunk.readers[0]


async def test_a_deleted_page_goes_with_its_files(synced: Synced) -> None:
    page = synced.pages[0]
    file = synced.site.attach(page, "a.txt", b"Words.")
    assert (await synced.run()).added == (f"{page}/{file.id}",)
    synced.site.trash(page)

    assert (await synced.run()).removed == (page, f"{page}/{file.id}")


async def test_who_changed_it_comes_along(synced: Synced) -> None:
    (chunk,) = synced.index.chunks(synced.pages[0])

    assert chunk.updated_by == "Site Admin"
    assert chunk.source_type == "confluence"
    assert chunk.updated_at is not None


def shown(synced: Synced, page: str) -> str:
    return " ".join(chunk.text for chunk in synced.index.chunks(page))


@pytest.mark.mended(id="confluence-3")
async def test_included_text_leaves_and_returns_with_its_readers(synced: Synced) -> None:
    front, included = synced.pages[0], synced.pages[5]
    synced.site.edit(front, f"<p>Own.</p>{INCLUDE.format('Page 5')}")
    await synced.run()
    assert "Text of 5." in shown(synced, front)

    synced.site.restrict(included, users=[ADMIN])
    report = await synced.run()

    assert report.changed == (front,)
    assert [note.page for note in report.notes].count(front) >= 1
    assert "Own." in shown(synced, front)
    assert "Text of 5." not in shown(synced, front)
    assert {chunk.readers for chunk in synced.index.chunks(front)} == {ANYBODY}
    assert (await synced.run()).changed == ()
    synced.site.unrestrict(included)
    await synced.run()
    assert "Text of 5." in shown(synced, front)


async def test_text_that_was_closed_is_hidden_until_it_is_replaced(synced: Synced) -> None:
    front, included = synced.pages[0], synced.pages[5]
    synced.site.edit(front, f"<p>Own.</p>{INCLUDE.format('Page 5')}")
    await synced.run()
    synced.site.restrict(included, users=[ADMIN])
    synced.index.changes.clear()

    await synced.run()

    *readers, text = synced.index.changes
    assert text == f"upsert {front}"
    assert f"readers {front}" in readers


async def test_a_page_with_a_closed_part_is_not_hidden_while_it_is_edited(synced: Synced) -> None:
    front, included = synced.pages[0], synced.pages[5]
    synced.site.restrict(included, users=[ADMIN])
    synced.site.edit(front, f"<p>Own.</p>{INCLUDE.format('Page 5')}")
    await synced.run()
    synced.site.edit(front, f"<p>New.</p>{INCLUDE.format('Page 5')}")
    synced.index.changes.clear()

    await synced.run()

    assert synced.index.changes == [f"upsert {front}"]


@pytest.mark.mended(id="confluence-9")
async def test_pages_that_nobody_may_read_are_counted(synced: Synced) -> None:
    assert (await synced.run()).for_nobody == 0
    synced.hides_permissions = True

    lines = report_lines(await synced.run())

    assert any(line.startswith("10 pages") and "nobody" in line for line in lines)

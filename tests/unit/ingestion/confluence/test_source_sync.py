"""A space of Confluence in an index: what is written, what an unchanged one costs, since when."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from ingestion.confluence.permissions import Rules, Selection
from ingestion.confluence.source import ConfluenceSource, ConfluenceSources
from ingestion.confluence.space_scan import OVERLAP, Watermark
from ingestion.confluence.wiki import PageHead, WikiSpace
from ingestion.errors import DocumentUnknown
from ingestion.sync.report import NoProgress, report_lines
from ingestion.sync.sync import SyncScope, sync
from ingestion.types import Extent, Report
from tests.fakes.confluence.memory_wiki import SITE, SiteWiki
from tests.fakes.confluence.site import ADMIN, Site
from tests.fakes.ingestion import MemoryIndex
from tests.unit.ingestion.confluence.space_wiki import ANYBODY, INCLUDE


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
            scope=SyncScope(extent, watermark=self.watermark),
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


async def test_a_deleted_page_goes_with_its_files(synced: Synced) -> None:
    page = synced.pages[0]
    file = synced.site.attach(page, "a.txt", b"Words.")
    assert (await synced.run()).added == (f"{page}/{file.id}",)
    synced.site.trash(page)

    assert (await synced.run()).removed == (page, f"{page}/{file.id}")


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


ASKED = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
IT = WikiSpace("17", "IT", "It", "https://wiki/IT")


def head(page_id: str, before: timedelta) -> PageHead:
    return PageHead(page_id, "page", "T", "IT", None, 3, ASKED - before, "https://x")


def test_it_is_read_as_it_was_written() -> None:
    mark = Watermark.after(ASKED, IT, [head("1", timedelta(minutes=1))])

    assert Watermark.parse(str(mark)) == mark
    assert mark.since == ASKED - OVERLAP


def test_only_what_the_overlap_shows_again_is_remembered() -> None:
    mark = Watermark.after(ASKED, IT, [head("1", OVERLAP), head("2", OVERLAP * 2)])

    assert mark.seen == {"1": 3}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "17",
        "null",
        "{}",
        '{"asked_at": "2026-11-23T09:00:00Z", "space": ["1"]}',
        '{"asked_at": "2026-11-23T09:00:00", "space": ["1", "IT", "It", "u"]}',
    ],
)
def test_what_is_none_is_not_taken_for_one(text: str) -> None:
    assert Watermark.parse(text) is None


class Known:
    """A site with the spaces IT, HR, OLD (archived) and a personal one."""

    def __init__(self, selection: Selection | None = None) -> None:
        self.site = Site()
        for key in ("IT", "HR", "OLD", "~admin"):
            self.site.add_space(key)
        self.site.archive_space("OLD")
        self.wiki = SiteWiki(self.site)
        self.now = 0.0
        self.sources = ConfluenceSources(
            self.wiki,
            url=SITE,
            rules=Rules(selection=selection or Selection()),
            clock=lambda: self.now,
        )


async def test_all_spaces_are_read_but_archived_and_personal_ones() -> None:
    assert await Known().sources.spaces() == ["HR", "IT"]


async def test_the_settings_say_which_spaces_are_read() -> None:
    assert await Known(Selection(spaces=frozenset({"IT", "~admin", "NO"}))).sources.spaces() == [
        "IT",
        "~admin",
    ]
    assert await Known(Selection(skip_spaces=frozenset({"HR"}))).sources.spaces() == ["IT"]


async def test_spaces_are_asked_for_once_a_minute() -> None:
    known = Known()
    await known.sources.spaces()
    await known.sources.source("IT")
    assert known.wiki.asked == ["spaces"]

    known.now = 61.0
    known.site.add_space("NEW")
    assert "NEW" in await known.sources.spaces()


async def test_a_space_that_is_named_needs_no_question() -> None:
    known = Known(Selection(spaces=frozenset({"IT"})))

    assert (await known.sources.source("IT")).space == "IT"
    assert known.wiki.asked == []


async def test_a_space_that_is_not_shown_is_unknown_with_the_cure() -> None:
    with pytest.raises(DocumentUnknown, match="CONFLUENCE_TOKEN"):
        await Known().sources.source("NO")


async def test_a_space_that_is_read_no_more_is_a_source_that_shows_nothing() -> None:
    source = await Known().sources.source("OLD")

    assert (await source.list()).pages == ()


async def test_an_address_names_its_space() -> None:
    known = Known()
    page = known.site.create("HR", "Pay")
    space_of = known.sources.space_of

    assert await space_of(f"{SITE}/pages/viewpage.action?pageId={page.id}") == "HR"
    assert await space_of(f"{SITE}/spaces/IT/overview") == "IT"
    assert await space_of(page.id) == "HR"


async def test_a_page_that_is_gone_is_of_the_space_that_its_address_says() -> None:
    known = Known()
    page = known.site.create("HR", "Pay")
    known.site.purge(page.id)

    assert await known.sources.space_of(f"{SITE}/spaces/HR/pages/{page.id}/Pay") == "HR"
    assert await known.sources.space_of(page.id) is None


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/spaces/IT/pages/1/X",
        f"{SITE}/spaces/OLD/overview",
        f"{SITE}/spaces/~admin/overview",
        f"{SITE}/somewhere",
        "VPN",
        "",
    ],
)
async def test_what_is_no_page_that_is_read_has_no_space(address: str) -> None:
    assert await Known().sources.space_of(address) is None

"""Confluence as a source: what changed, and one page."""

from __future__ import annotations

import pytest

from ingestion.errors import DocumentUnknown, SourceUnavailable
from tests.fakes.confluence.memory_wiki import SITE
from tests.unit.ingestion.confluence.space_wiki import SpaceWiki, by_id

# What changed


async def test_nothing_changed_costs_one_question(wiki: SpaceWiki) -> None:
    wiki.page("A")
    source = wiki.source
    listing = await source.list()
    wiki.asked.asked.clear()

    again = await source.changes(listing.watermark, [])

    assert wiki.asked.asked == ["changed IT"]
    assert (again.pages, again.within) == ((), ())


async def test_an_edited_page_is_looked_at_with_its_files(wiki: SpaceWiki) -> None:
    page, other = wiki.page("A"), wiki.page("B")
    wiki.site.attach(page.id, "a.txt", b"words")
    source = wiki.source
    before = await source.list()
    wiki.site.pass_time(3600)
    wiki.site.edit(page.id, "<p>New</p>")

    listing = await source.changes(before.watermark, [])

    assert listing.within == (page.id,)
    assert set(by_id(listing)) == {key for key in by_id(before) if not key.startswith(other.id)}
    assert by_id(listing)[page.id].version != by_id(before)[page.id].version
    assert (await source.changes(listing.watermark, [])).within == ()


async def test_what_was_edited_while_it_was_listed_is_not_missed(wiki: SpaceWiki) -> None:
    page = wiki.page("A")
    wiki.site.pass_time(7200)
    wiki.asked.before = lambda request: request == "marks IT" and wiki.site.edit(page.id, "<p/>")
    source = wiki.source
    before = await source.list()
    wiki.asked.before = lambda _request: None
    wiki.site.edit(page.id, "<p>Once more</p>")

    assert (await source.changes(before.watermark, [])).within == (page.id,)


async def test_pages_that_failed_are_looked_at_again(wiki: SpaceWiki) -> None:
    page = wiki.page("A")
    file = wiki.site.attach(page.id, "a.txt", b"words")
    wiki.site.pass_time(7200)
    source = wiki.source
    before = await source.list()

    listing = await source.changes(before.watermark, [f"{page.id}/{file.id}"])

    assert by_id(listing) == by_id(before)


async def test_a_failed_page_that_is_deleted_is_looked_at_and_not_there(wiki: SpaceWiki) -> None:
    page, _ = wiki.page("A"), wiki.page("B")
    wiki.site.pass_time(7200)
    source = wiki.source
    before = await source.list()
    wiki.site.trash(page.id)

    listing = await source.changes(before.watermark, [page.id])

    assert (listing.within, listing.pages) == ((page.id,), ())


async def test_a_page_is_not_gone_because_all_is_out_of_sight(wiki: SpaceWiki) -> None:
    page = wiki.page("A")
    source = wiki.source
    before = await source.list()
    wiki.asked.blind = True

    with pytest.raises(SourceUnavailable):
        await source.changes(before.watermark, [page.id])


async def test_an_unknown_watermark_means_all(wiki: SpaceWiki) -> None:
    page = wiki.page("A")

    listing = await wiki.source.changes("from elsewhere", [])

    assert (set(by_id(listing)), listing.within) == ({page.id}, None)


async def test_very_many_changes_are_looked_at_by_looking_at_all(wiki: SpaceWiki) -> None:
    source = wiki.source
    quiet = wiki.page("Quiet")
    before = await source.list()
    wiki.site.pass_time(7200)
    pages = [wiki.page(f"Page {number}") for number in range(250)]

    listing = await source.changes(before.watermark, [])

    assert set(by_id(listing)) == {page.id for page in pages}
    assert quiet.id not in (listing.within or ())
    assert len(wiki.asked.asked) < 100


@pytest.mark.parametrize("what", ["ancestors", "head"])
async def test_one_page_that_fails_does_not_hide_what_else_changed(
    wiki: SpaceWiki, what: str
) -> None:
    home = wiki.page("Home")
    page, other = wiki.page("A", parent=home.id), wiki.page("B")
    wiki.site.pass_time(7200)
    source = wiki.source
    before = await source.list()
    for each in (page, other):
        wiki.site.edit(each.id, "<p>New</p>")
    wiki.asked.broken.add(f"ancestors {page.id}" if what == "ancestors" else f"head {home.id}")

    listing = await source.changes(before.watermark, [])

    assert by_id(listing)[other.id].readers == (wiki.staff(),)
    if what == "ancestors":
        assert by_id(listing)[page.id].readers == ()
    else:
        assert [finding.page for finding in listing.failed] == [page.id]


async def test_files_that_cannot_be_listed_are_kept_as_they_are(wiki: SpaceWiki) -> None:
    page = wiki.page("A")
    wiki.asked.broken.add(f"attachments {page.id}")

    listing = await wiki.source.list_page(page.id)

    assert set(by_id(listing)) == {page.id}
    assert [finding.page for finding in listing.failed] == [f"{page.id}/"]


# One page


async def test_a_page_is_found_by_its_address(wiki: SpaceWiki) -> None:
    page = wiki.page("A B")

    for address in (f"{SITE}/spaces/IT/pages/{page.id}/A+B", f"{SITE}/display/IT/A+B", page.id):
        assert (await wiki.source.list_page(address)).within == (page.id,)


async def test_a_page_that_is_gone_is_looked_at_and_not_there(wiki: SpaceWiki) -> None:
    page, _ = wiki.page("A"), wiki.page("B")
    wiki.site.trash(page.id)

    listing = await wiki.source.list_page(page.id)

    assert (listing.within, listing.pages) == ((page.id,), ())


async def test_what_is_no_page_of_the_space_is_refused_with_the_cure(wiki: SpaceWiki) -> None:
    wiki.site.add_space("HR")
    elsewhere = wiki.site.create("HR", "Pay")

    with pytest.raises(DocumentUnknown, match="'HR'"):
        await wiki.source.list_page(elsewhere.id)
    for address in ("https://example.com/what", f"{SITE}/display/IT/Nothing"):
        with pytest.raises(DocumentUnknown, match="address"):
            await wiki.source.list_page(address)

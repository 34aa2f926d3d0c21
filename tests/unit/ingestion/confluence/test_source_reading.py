"""Confluence as a source: reading pages, their files, and the pages that they include."""

from __future__ import annotations

import pytest

from ingestion.confluence import page_reader
from ingestion.confluence.offers import NOT_FOR_ALL
from ingestion.confluence.permissions import Rules
from ingestion.confluence.storage.writer import Converted, Resolve
from ingestion.errors import PageUnreadable, SourceUnavailable
from ingestion.types import Finding, Paragraph, SourcePage
from tests.fakes.confluence.content import Content
from tests.fakes.confluence.memory_wiki import SITE
from tests.fakes.confluence.site import ADMIN
from tests.unit.ingestion.confluence.space_wiki import INCLUDE, SpaceWiki, by_id, listed

# Reading


async def test_a_page_is_read_with_who_changed_it(wiki: SpaceWiki) -> None:
    page = wiki.page("VPN", labels=["howto"])
    wiki.site.edit(page.id, "<p>Install it.</p>", by="ann")
    source = wiki.source
    (offer,) = (await source.list()).pages

    document = await source.read(offer)

    assert (document.title, document.labels) == ("VPN", ("howto",))
    assert document.blocks == (Paragraph("Install it."),)
    assert document.updated_by == "Ann"
    assert document.updated_at == wiki.site.contents[page.id].updated


async def test_people_and_links_are_named(wiki: SpaceWiki) -> None:
    other = wiki.page("Other page")
    account = wiki.site.people["ann"].account_id
    page = wiki.page(
        "VPN",
        f'<p>Ask <ac:link><ri:user ri:account-id="{account}"/></ac:link> or see <ac:link>'
        '<ri:page ri:content-title="Other page"/></ac:link>.</p>',
    )
    source = wiki.source
    offers = by_id(await source.list())

    (paragraph,) = (await source.read(offers[page.id])).blocks

    assert isinstance(paragraph, Paragraph)
    assert "Ann" in paragraph.text
    assert f"{SITE}/spaces/IT/pages/{other.id}" in paragraph.text
    assert not any(request.startswith("titled IT") for request in wiki.asked.asked)


async def test_a_page_that_fails_to_convert_is_unreadable_and_stops_nothing_else(
    wiki: SpaceWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_storage: str, _resolve: Resolve) -> Converted:
        raise ValueError("Exceeds the limit (4300 digits)")

    page = wiki.page("VPN")
    source = wiki.source
    offers = by_id(await source.list())
    monkeypatch.setattr(page_reader, "convert", failing)

    with pytest.raises(PageUnreadable, match="cannot be read"):
        await source.read(offers[page.id])


async def test_unknown_macros_are_counted(wiki: SpaceWiki) -> None:
    macro = '<ac:structured-macro ac:name="odd"><ac:rich-text-body><p>In.</p></ac:rich-text-body>'
    page = wiki.page("A", f"{macro}</ac:structured-macro>{macro}</ac:structured-macro>")
    source = wiki.source
    offers = by_id(await source.list())

    document = await source.read(offers[page.id])

    assert any("'odd' (2 times)" in note for note in document.notes)


async def test_files_are_pages_below_their_page(wiki: SpaceWiki) -> None:
    home = wiki.page("Home")
    page = wiki.page("VPN", parent=home.id, labels=["old"])
    wiki.restrict(page.id, "ann")
    file = wiki.site.attach(page.id, "../../x.txt", b"Words of the file.")
    source = wiki.source
    offer = by_id(await source.list())[f"{page.id}/{file.id}"]

    document = await source.read(offer)

    assert offer.ancestors == ("Home", "VPN")
    assert offer.readers == (await listed(wiki, page.id)).readers
    assert document.title == "../../x.txt"
    assert document.labels == ("old",)
    assert document.blocks == (Paragraph("Words of the file."),)


async def test_files_that_are_not_read_are_told(wiki: SpaceWiki) -> None:
    page = wiki.page("A")
    wiki.rules = Rules(largest=1024 * 1024)
    picture = wiki.site.attach(page.id, "a.png", b"\x89PNG")
    large = wiki.site.attach(page.id, "a.pdf", b"%PDF", size=50 * 1024 * 1024)

    listing = await wiki.source.list()

    assert set(by_id(listing)) == {page.id}
    assert {finding.page: finding.reason for finding in listing.skipped} == {
        f"{page.id}/{picture.id}": "attachments of type .png are not read",
        f"{page.id}/{large.id}": (
            "larger than 1 MB (50.0 MB); raise CONFLUENCE_ATTACHMENT_MB to have it read"
        ),
    }


async def test_a_page_edited_before_it_is_read_is_found_changed_the_next_time(
    wiki: SpaceWiki,
) -> None:
    page = wiki.page("A")
    source = wiki.source
    (offer,) = (await source.list()).pages
    wiki.site.edit(page.id, "<p>Newer</p>")

    assert (await source.read(offer)).blocks == (Paragraph("Newer"),)
    assert (await listed(wiki, page.id)).version != offer.version


@pytest.mark.parametrize("how", ["moved", "moved and edited"])
async def test_a_page_that_is_for_fewer_when_it_is_read_is_not_read(
    wiki: SpaceWiki, how: str
) -> None:
    page, closed = wiki.page("A"), wiki.page("Closed")
    wiki.restrict(closed.id, "bob")
    source = wiki.source
    offers = by_id(await source.list())
    wiki.site.move(page.id, closed.id)
    if how == "moved and edited":
        wiki.site.edit(page.id, "<p>Secret</p>")

    with pytest.raises(PageUnreadable, match="the next run"):
        await source.read(offers[page.id])


async def test_one_page_that_always_fails_does_not_stop_the_others(wiki: SpaceWiki) -> None:
    page = wiki.page("A")
    source = wiki.source
    (offer,) = (await source.list()).pages
    wiki.asked.broken.add(f"page {page.id}")

    with pytest.raises(PageUnreadable, match="500"):
        await source.read(offer)


async def test_pages_that_all_fail_stop_the_run(wiki: SpaceWiki) -> None:
    pages = [wiki.page(f"Page {number}") for number in range(20)]
    source = wiki.source
    offers = (await source.list()).pages
    wiki.asked.broken |= {f"page {page.id}" for page in pages}

    for offer in offers[:-1]:
        with pytest.raises(PageUnreadable):
            await source.read(offer)
    with pytest.raises(SourceUnavailable):
        await source.read(offers[-1])


# Included pages


async def included(wiki: SpaceWiki, page: Content) -> tuple[SourcePage, str]:
    source = wiki.source
    offer = by_id(await source.list())[page.id]
    return offer, str((await source.read(offer)).blocks)


@pytest.mark.mended(id="confluence-3")
async def test_a_page_keeps_its_readers_and_leaves_out_what_is_not_for_all(wiki: SpaceWiki) -> None:
    terms = wiki.page("Terms", "<p>Pay in time.</p>")
    page = wiki.page("VPN", f"<p>Own.</p>{INCLUDE.format('Terms')}")
    wiki.restrict(terms.id, "ann")

    offer, text = await included(wiki, page)

    assert offer.readers == (wiki.staff(),)
    assert "Own." in text
    assert "Terms (" in text
    assert "Pay in time." not in text


@pytest.mark.mended(id="confluence-3")
async def test_the_look_says_which_pages_leave_something_out(wiki: SpaceWiki) -> None:
    terms = wiki.page("Terms", "<p>Pay in time.</p>")
    wiki.page("Open", "<p>Open.</p>")
    pages = [wiki.page(title, INCLUDE.format("Terms")).id for title in ("VPN", "Wi-Fi")]
    wiki.page("Mail", INCLUDE.format("Open"))
    wiki.restrict(terms.id, "ann")

    notes = (await wiki.source.list()).notes

    assert notes == tuple(Finding(page, NOT_FOR_ALL) for page in pages)


async def test_what_all_readers_may_read_is_shown(wiki: SpaceWiki) -> None:
    terms = wiki.page("Terms", "<p>Pay in time.</p>")
    page = wiki.page("VPN", INCLUDE.format("Terms"))
    wiki.restrict(page.id, "ann")
    wiki.restrict(terms.id, "ann", "bob")

    offer, text = await included(wiki, page)

    assert "Pay in time." in text
    assert not wiki.may_read("bob", offer.readers)


async def test_a_new_version_of_an_included_page_is_a_new_version(wiki: SpaceWiki) -> None:
    terms = wiki.page("Terms", "<p>Pay in time.</p>")
    page = wiki.page("VPN", INCLUDE.format("Terms"))
    before = await listed(wiki, page.id)
    wiki.site.edit(terms.id, "<p>Pay late.</p>")

    assert (await listed(wiki, page.id)).version != before.version


async def test_includes_are_followed_two_deep_and_in_circles_once(wiki: SpaceWiki) -> None:
    inner = wiki.page("Inner", f"<p>Innermost.</p>{INCLUDE.format('Outer')}")
    wiki.page("Middle", f"<p>Between.</p>{INCLUDE.format('Inner')}")
    page = wiki.page("Outer", INCLUDE.format("Middle"))

    _, text = await included(wiki, page)

    assert "Between." in text
    assert "Innermost." in text
    wiki.restrict(inner.id, "ann")
    _, text = await included(wiki, page)
    assert "Between." in text
    assert "Innermost." not in text


async def test_a_page_that_nobody_may_read_stays_a_link(wiki: SpaceWiki) -> None:
    terms = wiki.page("Terms", "<p>Pay in time.</p>")
    page = wiki.page("VPN", f"<p>Own.</p>{INCLUDE.format('Terms')}")
    wiki.asked.broken.add(f"marks_of {terms.id}")

    offer, text = await included(wiki, page)

    assert offer.readers == (wiki.staff(),)
    assert "Pay in time." not in text


async def test_an_included_page_edited_meanwhile_waits_for_the_next_run(wiki: SpaceWiki) -> None:
    terms = wiki.page("Terms", "<p>Pay in time.</p>")
    page = wiki.page("VPN", f"<p>Own.</p>{INCLUDE.format('Terms')}")
    source = wiki.source
    offer = by_id(await source.list())[page.id]
    wiki.site.edit(terms.id, "<p>Secret.</p>")

    text = str((await source.read(offer)).blocks)

    assert "Own." in text
    assert "Secret." not in text


@pytest.mark.parametrize(("groups", "shown"), [(["staff"], True), (["board"], False)])
async def test_a_page_of_another_space_is_shown_if_that_is_open_to_all(
    wiki: SpaceWiki, groups: list[str], *, shown: bool
) -> None:
    wiki.site.add_space("HR", groups=groups)
    inner = wiki.site.create("HR", "Inner", "<p>Innermost.</p>")
    wiki.site.create("HR", "Terms", f"<p>Pay in time.</p>{INCLUDE.format('Inner')}")
    elsewhere = INCLUDE.replace("<ri:page ", '<ri:page ri:space-key="HR" ')
    page = wiki.page("VPN", elsewhere.format("Terms"))

    offer, text = await included(wiki, page)

    assert ("Pay in time." in text, "Innermost." in text) == (shown, shown)
    assert offer.readers == (wiki.staff(),)
    wiki.site.restrict(inner.id, users=[ADMIN])
    _, text = await included(wiki, page)
    assert ("Pay in time." in text, "Innermost." in text) == (shown, False)


async def test_a_page_that_includes_another_one_meanwhile_waits_for_the_next_run(
    wiki: SpaceWiki,
) -> None:
    wiki.page("Terms", "<p>Pay in time.</p>")
    page = wiki.page("VPN", "<p>Own.</p>")
    source = wiki.source
    offer = by_id(await source.list())[page.id]
    wiki.site.edit(page.id, INCLUDE.format("Terms"))

    with pytest.raises(PageUnreadable, match="next run"):
        await source.read(offer)

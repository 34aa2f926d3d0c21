"""Confluence as a source: what is listed, for whom, and what is not believed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ingestion.confluence.permissions import Rules, Selection, group_principal
from ingestion.confluence.wiki import Subjects
from ingestion.errors import SourceUnavailable
from ingestion.types import IncrementalSource, Source
from tests.fakes.confluence.memory_wiki import SITE
from tests.fakes.confluence.site import ADMIN, Site
from tests.unit.ingestion.confluence.space_wiki import ANYBODY, INCLUDE, SpaceWiki, by_id, listed


def test_it_has_every_capability(wiki: SpaceWiki) -> None:
    source: Source = wiki.source

    assert isinstance(source, IncrementalSource)
    assert (source.space, source.type) == ("IT", "confluence")


# What is listed


async def test_pages_and_blog_posts_are_listed_with_place_and_readers(wiki: SpaceWiki) -> None:
    home = wiki.page("Home")
    vpn = wiki.page("VPN", parent=home.id)
    news = wiki.page("News", kind="blogpost")

    listing = await wiki.source.list()

    assert set(by_id(listing)) == {home.id, vpn.id, news.id}
    assert by_id(listing)[vpn.id].ancestors == ("Home",)
    assert by_id(listing)[vpn.id].url == f"{SITE}/spaces/IT/pages/{vpn.id}"
    assert by_id(listing)[vpn.id].readers == (wiki.staff(),)
    assert listing.within is None


async def test_drafts_archived_and_deleted_pages_are_not_there(wiki: SpaceWiki) -> None:
    kept, archived, deleted = wiki.page("A"), wiki.page("B"), wiki.page("C")
    wiki.page("D", status="draft")
    wiki.site.archive(archived.id)
    wiki.site.trash(deleted.id)

    assert set(by_id(await wiki.source.list())) == {kept.id}


async def test_what_is_left_out_by_settings_is_told(wiki: SpaceWiki) -> None:
    page = wiki.page("Old", labels=["obsolete"])
    wiki.site.attach(page.id, "a.txt", b"words")
    wiki.rules = Rules(selection=Selection(skip_labels=frozenset({"obsolete"})))

    listing = await wiki.source.list()

    assert listing.pages == ()
    assert [finding.page for finding in listing.skipped] == [page.id]


async def test_an_archived_space_shows_nothing_and_says_so(wiki: SpaceWiki) -> None:
    wiki.page("A")
    wiki.site.archive_space("IT")

    listing = await wiki.source.list()

    assert listing.pages == ()
    assert "archived" in listing.skipped[0].reason


# Versions


CHANGES: dict[str, Callable[[Site, str, str], object]] = {
    "edited": lambda site, page, _: site.edit(page, "<p>New</p>"),
    "renamed": lambda site, page, _: site.edit(page, title="New"),
    "labelled": lambda site, page, _: site.label(page, "new"),
    "moved": lambda site, page, _: site.move(page, None),
    "parent renamed": lambda site, _, home: site.edit(home, title="New"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_the_version_follows_all_that_shapes_the_document(
    wiki: SpaceWiki, change: str
) -> None:
    home = wiki.page("Home")
    page = wiki.page("VPN", parent=home.id)
    before = await listed(wiki, page.id)
    CHANGES[change](wiki.site, page.id, home.id)

    assert (await listed(wiki, page.id)).version != before.version


async def test_readers_are_no_part_of_the_version(wiki: SpaceWiki) -> None:
    page = wiki.page("VPN")
    before = await listed(wiki, page.id)
    wiki.restrict(page.id, "ann")
    after = await listed(wiki, page.id)

    assert after.version == before.version
    assert after.readers != before.readers


async def test_a_look_at_one_page_gives_what_a_look_at_all_gives(wiki: SpaceWiki) -> None:
    folder = wiki.page("Things", kind="folder")
    home = wiki.page("Home", parent=folder.id, labels=["b", "a"])
    page = wiki.page("VPN", INCLUDE.format("Terms"), parent=home.id, labels=["x"])
    terms = wiki.page("Terms")
    wiki.restrict(terms.id, "ann", "bob")
    wiki.restrict(home.id, "bob")
    wiki.site.attach(page.id, "a.txt", b"words")
    whole = by_id(await wiki.source.list())

    for each in (home.id, page.id, terms.id):
        below = {key: one for key, one in whole.items() if key.partition("/")[0] == each}
        assert by_id(await wiki.source.list_page(each)) == below


# Permissions


async def test_every_restriction_above_must_be_met(wiki: SpaceWiki) -> None:
    top = wiki.page("Top")
    middle = wiki.page("Middle", parent=top.id)
    page = wiki.page("Page", parent=middle.id)
    wiki.restrict(top.id, "ann", "bob")
    wiki.restrict(page.id, "bob")

    readers = (await listed(wiki, page.id)).readers

    assert wiki.may_read("bob", readers)
    assert not wiki.may_read("ann", readers)


async def test_a_folder_that_is_restricted_restricts_what_is_in_it(wiki: SpaceWiki) -> None:
    folder = wiki.page("Board", kind="folder")
    page = wiki.page("Plan", parent=folder.id)
    wiki.restrict(folder.id, "bob")

    readers = (await listed(wiki, page.id)).readers

    assert wiki.may_read("bob", readers)
    assert not wiki.may_read("ann", readers)


@pytest.mark.parametrize("doubt", ["folder broken", "folder hidden", "page broken", "no chain"])
async def test_nobody_is_shown_a_page_where_a_layer_cannot_be_asked(
    wiki: SpaceWiki, doubt: str
) -> None:
    folder = wiki.page("Board", kind="folder")
    page, other = wiki.page("Plan", parent=folder.id), wiki.page("Other")
    if doubt == "folder hidden":
        wiki.asked.hidden.add(folder.id)
    else:
        broken = {
            "folder broken": f"marks_of {folder.id}",
            "page broken": f"marks_of {page.id}",
            "no chain": f"ancestors {page.id}",
        }
        wiki.asked.broken.add(broken[doubt])

    listing = await wiki.source.list()

    assert by_id(listing)[page.id].readers == ()
    assert by_id(listing)[other.id].readers == (wiki.staff(),)
    assert [finding.page for finding in listing.notes] == [page.id]
    assert "nobody is shown it" in listing.notes[0].reason


async def test_a_space_that_hides_its_permissions_is_for_nobody_and_said_once(
    wiki: SpaceWiki,
) -> None:
    pages = [wiki.page("A"), wiki.page("B")]
    wiki.asked.hides_permissions = True

    listing = await wiki.source.list()

    assert [by_id(listing)[page.id].readers for page in pages] == [(), ()]
    assert [finding.page for finding in listing.notes] == ["IT"]
    assert "CONFLUENCE_SPACE_READERS" in listing.notes[0].reason


async def test_the_setting_says_who_views_a_space_that_hides_it(wiki: SpaceWiki) -> None:
    page = wiki.page("A")
    wiki.asked.hides_permissions = True
    wiki.rules = Rules(space_readers={"IT": Subjects(anyone=True)})

    assert (await listed(wiki, page.id)).readers == ANYBODY


@pytest.mark.mended(id="confluence-4")
async def test_the_setting_adds_readers_of_the_space_and_opens_no_page(wiki: SpaceWiki) -> None:
    page, private = wiki.page("A"), wiki.page("B")
    wiki.restrict(private.id, "ann")
    partners = frozenset({"partners"})
    wiki.rules = Rules(space_readers={"IT": Subjects(groups=partners)})

    offers = by_id(await wiki.source.list())

    assert offers[page.id].readers == (wiki.staff() | {group_principal("partners")},)
    named = frozenset({wiki.named(ADMIN), wiki.named("ann")})
    assert set(offers[private.id].readers) == {named, wiki.staff() | {group_principal("partners")}}


@pytest.mark.mended(id="confluence-4")
@pytest.mark.parametrize("staff", [True, False])
async def test_a_principal_that_is_not_understood_is_named_for_its_space(
    wiki: SpaceWiki, *, staff: bool
) -> None:
    wiki.page("A")
    wiki.asked.unknown_viewers = frozenset({"role/all-licensed-users"})
    wiki.asked.hides_permissions = not staff

    (note,) = (await wiki.source.list()).notes

    assert note.page == "IT"
    assert "role/all-licensed-users is not understood" in note.reason
    wiki.rules = Rules(space_readers={"IT": Subjects(groups=frozenset({"partners"}))})
    assert (await wiki.source.list()).notes == ()


async def test_everybodys_groups_are_everyone(wiki: SpaceWiki) -> None:
    page, private = wiki.page("A"), wiki.page("B")
    wiki.restrict(private.id, "ann")
    wiki.rules = Rules(everyone_groups=("staff", "nosuch"))

    listing = await wiki.source.list()

    assert by_id(listing)[page.id].readers == ANYBODY
    assert by_id(listing)[private.id].readers == (
        frozenset({wiki.named(ADMIN), wiki.named("ann")}),
    )
    assert "'nosuch'" in listing.notes[0].reason


@pytest.mark.parametrize("when", ["marks IT", "heads IT"])
async def test_a_page_moved_while_it_is_listed_is_under_both_places(
    wiki: SpaceWiki, when: str
) -> None:
    closed, later = wiki.page("Closed"), wiki.page("Later")
    page = wiki.page("Secret", parent=closed.id)
    wiki.restrict(closed.id, "bob")

    def change(request: str) -> None:
        if request == when and "heads IT" in wiki.asked.asked:
            # Secret all the time: first there, then here.
            wiki.restrict(later.id, "bob")
            wiki.site.move(page.id, later.id)
            wiki.site.unrestrict(closed.id)

    wiki.asked.before = change

    assert not wiki.may_read("ann", (await listed(wiki, page.id)).readers)


async def test_a_page_closed_by_the_space_and_then_by_itself_was_never_open(
    wiki: SpaceWiki,
) -> None:
    page = wiki.page("Secret")
    wiki.restrict(page.id, "bob")
    wiki.site.grant_space("IT", anonymous=True)
    seen = []

    def change(request: str) -> None:
        seen.append(request)
        if request == "heads IT" and seen.count(request) == 1:
            # Secret all the time: first the page is closed, then the space.
            wiki.site.revoke_space("IT", groups=["staff"], anonymous=True)
            wiki.site.unrestrict(page.id)

    wiki.asked.before = change

    assert not wiki.may_read("ann", (await listed(wiki, page.id)).readers)


# What is not believed


async def test_a_space_that_is_not_shown_is_an_error_with_the_cure(wiki: SpaceWiki) -> None:
    wiki.site.remove_space("IT")

    with pytest.raises(SourceUnavailable, match="CONFLUENCE_TOKEN"):
        await wiki.source.list()


@pytest.mark.parametrize("request_name", ["heads IT", "marks IT", "including IT"])
async def test_a_token_that_goes_blind_half_way_removes_nothing(
    wiki: SpaceWiki, request_name: str
) -> None:
    for number in range(8):
        wiki.page(f"Page {number}")
    seen = []

    def blind(request: str) -> None:
        seen.append(request)
        if request == request_name and len(seen) > 2:
            wiki.asked.blind = True
            wiki.site.revoke_space("IT", users=[ADMIN])

    wiki.asked.before = blind

    try:
        listing = await wiki.source.list()
    except SourceUnavailable:
        return
    assert len(listing.pages) == 8


async def test_many_pages_that_vanish_while_looking_are_not_believed(wiki: SpaceWiki) -> None:
    pages = [wiki.page(f"Page {number}") for number in range(60)]

    def vanish(request: str) -> None:
        if request == "marks IT":
            wiki.asked.hidden |= {page.id for page in pages[:30]}
            for page in pages[:30]:
                wiki.site.contents[page.id].status = "draft"

    wiki.asked.before = vanish

    with pytest.raises(SourceUnavailable, match="30 pages"):
        await wiki.source.list()


async def test_a_page_deleted_while_looking_is_gone(wiki: SpaceWiki) -> None:
    kept, gone = wiki.page("A"), wiki.page("B")

    def delete(request: str) -> None:
        if request == "marks IT":
            wiki.site.trash(gone.id)

    wiki.asked.before = delete

    assert set(by_id(await wiki.source.list())) == {kept.id}


async def test_permissions_that_always_fail_stop_the_run(wiki: SpaceWiki) -> None:
    pages = [wiki.page(f"Page {number}") for number in range(30)]
    wiki.asked.broken |= {f"marks_of {page.id}" for page in pages}

    with pytest.raises(SourceUnavailable):
        await wiki.source.list()

"""Confluence as a source: what is listed, found, read and left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from ingestion.confluence.offers import NOT_FOR_ALL
from ingestion.confluence.permissions import Rules, Selection, group_principal, user_principal
from ingestion.confluence.source import ConfluenceSource
from ingestion.confluence.wiki import Subjects
from ingestion.errors import DocumentUnknown, PageUnreadable, SourceUnavailable
from ingestion.types import Finding, IncrementalSource, Listing, Paragraph, Source, SourcePage
from rag.types import EVERYONE, Readers
from tests.fakes.confluence.content import Content
from tests.fakes.confluence.memory_wiki import SITE, SiteWiki
from tests.fakes.confluence.site import ADMIN, Site

ANYBODY = (frozenset({EVERYONE}),)
INCLUDE = (
    '<ac:structured-macro ac:name="include"><ac:parameter ac:name=""><ac:link>'
    '<ri:page ri:content-title="{}"/></ac:link></ac:parameter></ac:structured-macro>'
)


@dataclass
class Wiki:
    """A space IT that staff may view, a wiki that is asked for it, and its source."""

    site: Site = field(default_factory=Site)
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        self.site.add_person("ann")
        self.site.add_person("bob")
        self.site.add_group("staff", ["ann", "bob"])
        self.site.add_group("board", ["bob"])
        self.site.add_space("IT", groups=["staff"])
        self.asked = SiteWiki(self.site)

    @property
    def source(self) -> ConfluenceSource:
        return ConfluenceSource(self.asked, "IT", self.rules, now=lambda: self.site.now)

    def page(self, title: str, storage: str = "<p>Some text.</p>", **more: object) -> Content:
        return self.site.create("IT", title, storage, **more)  # type: ignore[arg-type]

    def restrict(self, page: str, *people: str) -> None:
        """Let only these people read a page, and the one whose token we have."""
        self.site.restrict(page, users={ADMIN, *people})

    def named(self, handle: str) -> str:
        return user_principal(self.site.people[handle].account_id)

    def staff(self) -> frozenset[str]:
        return frozenset({self.named(ADMIN), group_principal(self.site.groups["staff"].id)})

    def may_read(self, handle: str, readers: Readers) -> bool:
        own = {group_principal(one.id) for one in self.site.groups_of(handle)}
        asker = {EVERYONE, self.named(handle), *own}
        return bool(readers) and all(one & asker for one in readers)


@pytest.fixture
def wiki() -> Wiki:
    return Wiki()


def by_id(listing: Listing) -> dict[str, SourcePage]:
    return {page.id: page for page in listing.pages}


async def listed(wiki: Wiki, page_id: str) -> SourcePage:
    return by_id(await wiki.source.list())[page_id]


def test_it_has_every_capability(wiki: Wiki) -> None:
    source: Source = wiki.source

    assert isinstance(source, IncrementalSource)
    assert (source.space, source.type) == ("IT", "confluence")


# What is listed


async def test_pages_and_blog_posts_are_listed_with_place_and_readers(wiki: Wiki) -> None:
    home = wiki.page("Home")
    vpn = wiki.page("VPN", parent=home.id)
    news = wiki.page("News", kind="blogpost")

    listing = await wiki.source.list()

    assert set(by_id(listing)) == {home.id, vpn.id, news.id}
    assert by_id(listing)[vpn.id].ancestors == ("Home",)
    assert by_id(listing)[vpn.id].url == f"{SITE}/spaces/IT/pages/{vpn.id}"
    assert by_id(listing)[vpn.id].readers == (wiki.staff(),)
    assert listing.within is None


async def test_drafts_archived_and_deleted_pages_are_not_there(wiki: Wiki) -> None:
    kept, archived, deleted = wiki.page("A"), wiki.page("B"), wiki.page("C")
    wiki.page("D", status="draft")
    wiki.site.archive(archived.id)
    wiki.site.trash(deleted.id)

    assert set(by_id(await wiki.source.list())) == {kept.id}


async def test_what_is_left_out_by_settings_is_told(wiki: Wiki) -> None:
    page = wiki.page("Old", labels=["obsolete"])
    wiki.site.attach(page.id, "a.txt", b"words")
    wiki.rules = Rules(selection=Selection(skip_labels=frozenset({"obsolete"})))

    listing = await wiki.source.list()

    assert listing.pages == ()
    assert [finding.page for finding in listing.skipped] == [page.id]


async def test_an_archived_space_shows_nothing_and_says_so(wiki: Wiki) -> None:
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
async def test_the_version_follows_all_that_shapes_the_document(wiki: Wiki, change: str) -> None:
    home = wiki.page("Home")
    page = wiki.page("VPN", parent=home.id)
    before = await listed(wiki, page.id)
    CHANGES[change](wiki.site, page.id, home.id)

    assert (await listed(wiki, page.id)).version != before.version


async def test_readers_are_no_part_of_the_version(wiki: Wiki) -> None:
    page = wiki.page("VPN")
    before = await listed(wiki, page.id)
    wiki.restrict(page.id, "ann")
    after = await listed(wiki, page.id)

    assert after.version == before.version
    assert after.readers != before.readers


async def test_a_look_at_one_page_gives_what_a_look_at_all_gives(wiki: Wiki) -> None:
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
        assert by_id(await wiki.source.only(each)) == below


# Permissions


async def test_every_restriction_above_must_be_met(wiki: Wiki) -> None:
    top = wiki.page("Top")
    middle = wiki.page("Middle", parent=top.id)
    page = wiki.page("Page", parent=middle.id)
    wiki.restrict(top.id, "ann", "bob")
    wiki.restrict(page.id, "bob")

    readers = (await listed(wiki, page.id)).readers

    assert wiki.may_read("bob", readers)
    assert not wiki.may_read("ann", readers)


async def test_a_folder_that_is_restricted_restricts_what_is_in_it(wiki: Wiki) -> None:
    folder = wiki.page("Board", kind="folder")
    page = wiki.page("Plan", parent=folder.id)
    wiki.restrict(folder.id, "bob")

    readers = (await listed(wiki, page.id)).readers

    assert wiki.may_read("bob", readers)
    assert not wiki.may_read("ann", readers)


@pytest.mark.parametrize("how", ["broken", "hidden"])
async def test_nobody_is_shown_a_page_below_what_cannot_be_asked(wiki: Wiki, how: str) -> None:
    folder = wiki.page("Board", kind="folder")
    page, other = wiki.page("Plan", parent=folder.id), wiki.page("Other")
    if how == "broken":
        wiki.asked.broken.add(f"marks_of {folder.id}")
    else:
        wiki.asked.hidden.add(folder.id)

    listing = await wiki.source.list()

    assert by_id(listing)[page.id].readers == ()
    assert by_id(listing)[other.id].readers == (wiki.staff(),)
    assert [finding.page for finding in listing.notes] == [page.id]


async def test_a_page_whose_restrictions_fail_is_kept_for_nobody(wiki: Wiki) -> None:
    page = wiki.page("Plan")
    wiki.asked.broken.add(f"marks_of {page.id}")

    listing = await wiki.source.list()

    assert by_id(listing)[page.id].readers == ()
    assert "nobody is shown it" in listing.notes[0].reason


async def test_a_space_that_hides_its_permissions_is_for_nobody_and_said_once(wiki: Wiki) -> None:
    pages = [wiki.page("A"), wiki.page("B")]
    wiki.asked.hides_permissions = True

    listing = await wiki.source.list()

    assert [by_id(listing)[page.id].readers for page in pages] == [(), ()]
    assert [finding.page for finding in listing.notes] == ["IT"]
    assert "CONFLUENCE_SPACE_READERS" in listing.notes[0].reason


async def test_the_setting_says_who_views_a_space_that_hides_it(wiki: Wiki) -> None:
    page = wiki.page("A")
    wiki.asked.hides_permissions = True
    wiki.rules = Rules(space_readers={"IT": Subjects(anyone=True)})

    assert (await listed(wiki, page.id)).readers == ANYBODY


@pytest.mark.mended(id="confluence-4")
async def test_the_setting_adds_readers_of_the_space_and_opens_no_page(wiki: Wiki) -> None:
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
    wiki: Wiki, *, staff: bool
) -> None:
    wiki.page("A")
    wiki.asked.unknown_viewers = frozenset({"role/all-licensed-users"})
    wiki.asked.hides_permissions = not staff

    (note,) = (await wiki.source.list()).notes

    assert note.page == "IT"
    assert "role/all-licensed-users is not understood" in note.reason
    wiki.rules = Rules(space_readers={"IT": Subjects(groups=frozenset({"partners"}))})
    assert (await wiki.source.list()).notes == ()


async def test_everybodys_groups_are_everyone(wiki: Wiki) -> None:
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
async def test_a_page_moved_while_it_is_listed_is_under_both_places(wiki: Wiki, when: str) -> None:
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


async def test_a_page_closed_by_the_space_and_then_by_itself_was_never_open(wiki: Wiki) -> None:
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


async def test_a_space_that_is_not_shown_is_an_error_with_the_cure(wiki: Wiki) -> None:
    wiki.site.remove_space("IT")

    with pytest.raises(SourceUnavailable, match="CONFLUENCE_TOKEN"):
        await wiki.source.list()


@pytest.mark.parametrize("request_name", ["heads IT", "marks IT", "including IT"])
async def test_a_token_that_goes_blind_half_way_removes_nothing(
    wiki: Wiki, request_name: str
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


async def test_many_pages_that_vanish_while_looking_are_not_believed(wiki: Wiki) -> None:
    pages = [wiki.page(f"Page {number}") for number in range(60)]

    def vanish(request: str) -> None:
        if request == "marks IT":
            wiki.asked.hidden |= {page.id for page in pages[:30]}
            for page in pages[:30]:
                wiki.site.contents[page.id].status = "draft"

    wiki.asked.before = vanish

    with pytest.raises(SourceUnavailable, match="30 pages"):
        await wiki.source.list()


async def test_a_page_deleted_while_looking_is_gone(wiki: Wiki) -> None:
    kept, gone = wiki.page("A"), wiki.page("B")

    def delete(request: str) -> None:
        if request == "marks IT":
            wiki.site.trash(gone.id)

    wiki.asked.before = delete

    assert set(by_id(await wiki.source.list())) == {kept.id}


async def test_permissions_that_always_fail_stop_the_run(wiki: Wiki) -> None:
    pages = [wiki.page(f"Page {number}") for number in range(30)]
    wiki.asked.broken |= {f"marks_of {page.id}" for page in pages}

    with pytest.raises(SourceUnavailable):
        await wiki.source.list()


# What changed


async def test_nothing_changed_costs_one_question(wiki: Wiki) -> None:
    wiki.page("A")
    source = wiki.source
    listing = await source.list()
    wiki.asked.asked.clear()

    again = await source.changes(listing.watermark, [])

    assert wiki.asked.asked == ["changed IT"]
    assert (again.pages, again.within) == ((), ())


async def test_an_edited_page_is_looked_at_with_its_files(wiki: Wiki) -> None:
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


async def test_what_was_edited_while_it_was_listed_is_not_missed(wiki: Wiki) -> None:
    page = wiki.page("A")
    wiki.site.pass_time(7200)
    wiki.asked.before = lambda request: request == "marks IT" and wiki.site.edit(page.id, "<p/>")
    source = wiki.source
    before = await source.list()
    wiki.asked.before = lambda _request: None
    wiki.site.edit(page.id, "<p>Once more</p>")

    assert (await source.changes(before.watermark, [])).within == (page.id,)


async def test_pages_that_failed_are_looked_at_again(wiki: Wiki) -> None:
    page = wiki.page("A")
    file = wiki.site.attach(page.id, "a.txt", b"words")
    wiki.site.pass_time(7200)
    source = wiki.source
    before = await source.list()

    listing = await source.changes(before.watermark, [f"{page.id}/{file.id}"])

    assert by_id(listing) == by_id(before)


async def test_a_failed_page_that_is_deleted_is_looked_at_and_not_there(wiki: Wiki) -> None:
    page, _ = wiki.page("A"), wiki.page("B")
    wiki.site.pass_time(7200)
    source = wiki.source
    before = await source.list()
    wiki.site.trash(page.id)

    listing = await source.changes(before.watermark, [page.id])

    assert (listing.within, listing.pages) == ((page.id,), ())


async def test_a_page_is_not_gone_because_all_is_out_of_sight(wiki: Wiki) -> None:
    page = wiki.page("A")
    source = wiki.source
    before = await source.list()
    wiki.asked.blind = True

    with pytest.raises(SourceUnavailable):
        await source.changes(before.watermark, [page.id])


async def test_an_unknown_watermark_means_all(wiki: Wiki) -> None:
    page = wiki.page("A")

    listing = await wiki.source.changes("from elsewhere", [])

    assert (set(by_id(listing)), listing.within) == ({page.id}, None)


async def test_very_many_changes_are_looked_at_by_looking_at_all(wiki: Wiki) -> None:
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
async def test_one_page_that_fails_does_not_hide_what_else_changed(wiki: Wiki, what: str) -> None:
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


async def test_files_that_cannot_be_listed_are_kept_as_they_are(wiki: Wiki) -> None:
    page = wiki.page("A")
    wiki.asked.broken.add(f"attachments {page.id}")

    listing = await wiki.source.only(page.id)

    assert set(by_id(listing)) == {page.id}
    assert [finding.page for finding in listing.failed] == [f"{page.id}/"]


async def test_a_folder_that_fails_hides_what_is_in_it_alone(wiki: Wiki) -> None:
    folder = wiki.page("Things", kind="folder")
    page, other = wiki.page("A", parent=folder.id), wiki.page("B")
    wiki.asked.broken.add(f"ancestors {page.id}")

    found = by_id(await wiki.source.list())

    assert (found[page.id].readers, found[other.id].readers) == ((), (wiki.staff(),))


# One page


async def test_a_page_is_found_by_its_address(wiki: Wiki) -> None:
    page = wiki.page("A B")

    for address in (f"{SITE}/spaces/IT/pages/{page.id}/A+B", f"{SITE}/display/IT/A+B", page.id):
        assert (await wiki.source.only(address)).within == (page.id,)


async def test_a_page_that_is_gone_is_looked_at_and_not_there(wiki: Wiki) -> None:
    page, _ = wiki.page("A"), wiki.page("B")
    wiki.site.trash(page.id)

    listing = await wiki.source.only(page.id)

    assert (listing.within, listing.pages) == ((page.id,), ())


async def test_what_is_no_page_of_the_space_is_refused_with_the_cure(wiki: Wiki) -> None:
    wiki.site.add_space("HR")
    elsewhere = wiki.site.create("HR", "Pay")

    with pytest.raises(DocumentUnknown, match="'HR'"):
        await wiki.source.only(elsewhere.id)
    for address in ("https://example.com/what", f"{SITE}/display/IT/Nothing"):
        with pytest.raises(DocumentUnknown, match="address"):
            await wiki.source.only(address)


# Reading


async def test_a_page_is_read_with_who_changed_it(wiki: Wiki) -> None:
    page = wiki.page("VPN", labels=["howto"])
    wiki.site.edit(page.id, "<p>Install it.</p>", by="ann")
    source = wiki.source
    (offer,) = (await source.list()).pages

    document = await source.read(offer)

    assert (document.title, document.labels) == ("VPN", ("howto",))
    assert document.blocks == (Paragraph("Install it."),)
    assert document.updated_by == "Ann"
    assert document.updated_at == wiki.site.contents[page.id].updated


async def test_people_and_links_are_named(wiki: Wiki) -> None:
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


async def test_unknown_macros_are_counted(wiki: Wiki) -> None:
    macro = '<ac:structured-macro ac:name="odd"><ac:rich-text-body><p>In.</p></ac:rich-text-body>'
    page = wiki.page("A", f"{macro}</ac:structured-macro>{macro}</ac:structured-macro>")
    source = wiki.source
    offers = by_id(await source.list())

    document = await source.read(offers[page.id])

    assert any("'odd' (2 times)" in note for note in document.notes)


async def test_files_are_pages_below_their_page(wiki: Wiki) -> None:
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


async def test_files_that_are_not_read_are_told(wiki: Wiki) -> None:
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


async def test_a_page_edited_before_it_is_read_is_found_changed_the_next_time(wiki: Wiki) -> None:
    page = wiki.page("A")
    source = wiki.source
    (offer,) = (await source.list()).pages
    wiki.site.edit(page.id, "<p>Newer</p>")

    assert (await source.read(offer)).blocks == (Paragraph("Newer"),)
    assert (await listed(wiki, page.id)).version != offer.version


@pytest.mark.parametrize("how", ["moved", "moved and edited"])
async def test_a_page_that_is_for_fewer_when_it_is_read_is_not_read(wiki: Wiki, how: str) -> None:
    page, closed = wiki.page("A"), wiki.page("Closed")
    wiki.restrict(closed.id, "bob")
    source = wiki.source
    offers = by_id(await source.list())
    wiki.site.move(page.id, closed.id)
    if how == "moved and edited":
        wiki.site.edit(page.id, "<p>Secret</p>")

    with pytest.raises(PageUnreadable, match="the next run"):
        await source.read(offers[page.id])


async def test_one_page_that_always_fails_does_not_stop_the_others(wiki: Wiki) -> None:
    page = wiki.page("A")
    source = wiki.source
    (offer,) = (await source.list()).pages
    wiki.asked.broken.add(f"page {page.id}")

    with pytest.raises(PageUnreadable, match="500"):
        await source.read(offer)


async def test_pages_that_all_fail_stop_the_run(wiki: Wiki) -> None:
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


async def included(wiki: Wiki, page: Content) -> tuple[SourcePage, str]:
    source = wiki.source
    offer = by_id(await source.list())[page.id]
    return offer, str((await source.read(offer)).blocks)


@pytest.mark.mended(id="confluence-3")
async def test_a_page_keeps_its_readers_and_leaves_out_what_is_not_for_all(wiki: Wiki) -> None:
    terms = wiki.page("Terms", "<p>Pay in time.</p>")
    page = wiki.page("VPN", f"<p>Own.</p>{INCLUDE.format('Terms')}")
    wiki.restrict(terms.id, "ann")

    offer, text = await included(wiki, page)

    assert offer.readers == (wiki.staff(),)
    assert "Own." in text
    assert "Terms (" in text
    assert "Pay in time." not in text


@pytest.mark.mended(id="confluence-3")
async def test_the_look_says_which_pages_leave_something_out(wiki: Wiki) -> None:
    terms = wiki.page("Terms", "<p>Pay in time.</p>")
    wiki.page("Open", "<p>Open.</p>")
    pages = [wiki.page(title, INCLUDE.format("Terms")).id for title in ("VPN", "Wi-Fi")]
    wiki.page("Mail", INCLUDE.format("Open"))
    wiki.restrict(terms.id, "ann")

    notes = (await wiki.source.list()).notes

    assert notes == tuple(Finding(page, NOT_FOR_ALL) for page in pages)


async def test_what_all_readers_may_read_is_shown(wiki: Wiki) -> None:
    terms = wiki.page("Terms", "<p>Pay in time.</p>")
    page = wiki.page("VPN", INCLUDE.format("Terms"))
    wiki.restrict(page.id, "ann")
    wiki.restrict(terms.id, "ann", "bob")

    offer, text = await included(wiki, page)

    assert "Pay in time." in text
    assert not wiki.may_read("bob", offer.readers)


async def test_a_new_version_of_an_included_page_is_a_new_version(wiki: Wiki) -> None:
    terms = wiki.page("Terms", "<p>Pay in time.</p>")
    page = wiki.page("VPN", INCLUDE.format("Terms"))
    before = await listed(wiki, page.id)
    wiki.site.edit(terms.id, "<p>Pay late.</p>")

    assert (await listed(wiki, page.id)).version != before.version


async def test_includes_are_followed_two_deep_and_in_circles_once(wiki: Wiki) -> None:
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


async def test_a_page_that_nobody_may_read_stays_a_link(wiki: Wiki) -> None:
    terms = wiki.page("Terms", "<p>Pay in time.</p>")
    page = wiki.page("VPN", f"<p>Own.</p>{INCLUDE.format('Terms')}")
    wiki.asked.broken.add(f"marks_of {terms.id}")

    offer, text = await included(wiki, page)

    assert offer.readers == (wiki.staff(),)
    assert "Pay in time." not in text


async def test_an_included_page_edited_meanwhile_waits_for_the_next_run(wiki: Wiki) -> None:
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
    wiki: Wiki, groups: list[str], *, shown: bool
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
    wiki: Wiki,
) -> None:
    wiki.page("Terms", "<p>Pay in time.</p>")
    page = wiki.page("VPN", "<p>Own.</p>")
    source = wiki.source
    offer = by_id(await source.list())[page.id]
    wiki.site.edit(page.id, INCLUDE.format("Terms"))

    with pytest.raises(PageUnreadable, match="next run"):
        await source.read(offer)

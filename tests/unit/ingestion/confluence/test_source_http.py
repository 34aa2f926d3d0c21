"""The source over the real client and a local Confluence, as Cloud and as Data Center."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from ingestion.confluence.permissions import Rules
from ingestion.confluence.source import ConfluenceSource
from ingestion.errors import SourceUnavailable
from ingestion.types import Listing, Paragraph, SourcePage
from tests.fakes.confluence.content import ContentKind
from tests.fakes.confluence.requests import Edition
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Site
from tests.fakes.confluence.tokens import principals_at, wiki_at
from tests.unit.ingestion.confluence.space_wiki import INCLUDE


@dataclass
class Joined:
    """A site with a space IT, spoken to over HTTP with the admin's token."""

    site: Site
    server: LocalConfluence
    source: ConfluenceSource

    def may_read(self, handle: str, page: SourcePage) -> bool:
        asker = principals_at(self.server, handle)
        return bool(page.readers) and all(one & asker for one in page.readers)


@pytest.fixture(params=["cloud", "data-center"])
async def joined(request: pytest.FixtureRequest) -> AsyncIterator[Joined]:
    edition: Edition = request.param
    site = Site()
    for handle in ("ann", "bob"):
        site.add_person(handle)
    site.add_group("staff", ["ann", "bob", ADMIN])
    site.add_space("IT", groups=["staff"])
    async with LocalConfluence(site, edition).serving() as server:
        wiki = wiki_at(server)
        try:
            yield Joined(site, server, ConfluenceSource(wiki, "IT", Rules(), now=lambda: site.now))
        finally:
            await wiki.close()
        assert site.unexpected == []


def by_id(listing: Listing) -> dict[str, SourcePage]:
    return {page.id: page for page in listing.pages}


async def test_a_space_is_listed_and_read(joined: Joined) -> None:
    home = joined.site.create("IT", "Home", "<p>Welcome.</p>", labels=["howto"])
    kind: ContentKind = "folder" if joined.server.edition == "cloud" else "page"
    closed = joined.site.create("IT", "Board", kind=kind)
    page = joined.site.create("IT", "VPN", "<p>Install it.</p>", parent=home.id)
    secret = joined.site.create("IT", "Plan", "<p>Secret.</p>", parent=closed.id)
    joined.site.restrict(closed.id, users={ADMIN, "bob"})
    file = joined.site.attach(page.id, "notes.txt", b"Words of the file.")
    joined.site.edit(page.id, "<p>Install it twice.</p>", by="ann")

    found = by_id(await joined.source.list())
    document = await joined.source.read(found[page.id])

    assert set(found) - {closed.id} == {home.id, page.id, secret.id, f"{page.id}/{file.id}"}
    assert found[page.id].ancestors == ("Home",)
    assert joined.may_read("ann", found[page.id])
    assert not joined.may_read("ann", found[secret.id])
    assert joined.may_read("bob", found[secret.id])
    assert document.blocks == (Paragraph("Install it twice."),)
    assert document.updated_by == "Ann"
    attached = await joined.source.read(found[f"{page.id}/{file.id}"])
    assert attached.blocks == (Paragraph("Words of the file."),)


async def test_a_look_at_one_page_gives_what_a_look_at_all_gives(joined: Joined) -> None:
    home = joined.site.create("IT", "Home", labels=["b", "a"])
    terms = joined.site.create("IT", "Terms", "<p>Pay.</p>")
    page = joined.site.create("IT", "VPN", INCLUDE.format("Terms"), parent=home.id)
    news = joined.site.create("IT", "News", kind="blogpost")
    joined.site.restrict(terms.id, users={ADMIN, "ann"})
    joined.site.attach(page.id, "notes.txt", b"Words of the file.")

    whole = by_id(await joined.source.list())

    assert joined.may_read("bob", whole[page.id])
    assert not joined.may_read("bob", whole[terms.id])
    for each in (home.id, terms.id, page.id, news.id):
        below = {key: one for key, one in whole.items() if key.partition("/")[0] == each}
        assert by_id(await joined.source.list_page(each)) == below


async def test_changes_are_found_and_no_change_costs_two_requests_at_most(joined: Joined) -> None:
    page = joined.site.create("IT", "VPN")
    other = joined.site.create("IT", "Mail")
    joined.site.pass_time(7200)
    before = await joined.source.list()
    joined.server.requests.clear()
    quiet = await joined.source.changes(before.watermark, [])

    assert (quiet.pages, quiet.within) == ((), ())
    assert len(joined.server.requests) <= 2

    joined.site.pass_time(300)
    joined.site.edit(page.id, "<p>New.</p>")
    listing = await joined.source.changes(quiet.watermark, [other.id])
    assert listing.within == tuple(sorted([page.id, other.id]))
    assert set(by_id(listing)) == {page.id, other.id}


@pytest.mark.parametrize("how", [403, 404, "empty"])
@pytest.mark.parametrize("after", range(0, 14, 2))
async def test_a_token_that_goes_blind_never_shows_a_part(
    joined: Joined, how: int | str, after: int
) -> None:
    pages = {joined.site.create("IT", f"Page {number}").id for number in range(12)}
    joined.server.faults.go_blind("IT", how=how, after=after)  # type: ignore[arg-type]

    try:
        listing = await joined.source.list()
    except SourceUnavailable:
        return
    assert set(by_id(listing)) in (pages, set())


async def test_looking_at_all_needs_few_requests(joined: Joined) -> None:
    home = joined.site.create("IT", "Home")
    for number in range(1000):
        joined.site.create("IT", f"Page {number}", parent=home.id)

    listing = await joined.source.list()

    assert len(listing.pages) == 1001
    assert len(joined.server.requests) <= 1001 / 15


async def test_reading_what_did_not_change_asks_for_the_page_and_its_author(joined: Joined) -> None:
    kind: ContentKind = "folder" if joined.server.edition == "cloud" else "page"
    closed = joined.site.create("IT", "Board", kind=kind)
    home = joined.site.create("IT", "Home", parent=closed.id)
    page = joined.site.create("IT", "VPN", "<p>Install it.</p>", parent=home.id)
    found = by_id(await joined.source.list())
    joined.server.requests.clear()

    await joined.source.read(found[page.id])

    asked = {one.kind for one in joined.server.requests}
    assert asked <= {"page", "content", "ancestors", "user", "spaces"}

"""The last check of pages asks Confluence as it is now, over HTTP, in both editions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

import pytest

from ingestion.confluence.assembly import PermissionRecheck
from ingestion.confluence.client.retry import RetryLimits
from ingestion.confluence.permissions import Rules, Selection
from rag.types import EVERYONE, Chunk, Principal
from tests.fakes.builders import chunk
from tests.fakes.confluence.faults import ANY, slow, unavailable
from tests.fakes.confluence.requests import Edition
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Site
from tests.fakes.confluence.tokens import principals_at, wiki_at
from tests.unit.ingestion.confluence.space_wiki import INCLUDE

RULES = Rules()


@dataclass
class Joined:
    """A site with a space IT for staff, and a last check of it."""

    site: Site
    server: LocalConfluence
    closing: AsyncExitStack

    def check(self, *, seconds: float = 4.0, rules: Rules = RULES) -> PermissionRecheck:
        wiki = wiki_at(self.server, patience=RetryLimits(attempts=1))
        self.closing.push_async_callback(wiki.close)
        return PermissionRecheck(wiki, rules, seconds=seconds, now=lambda: self.site.now)

    def asker(self, handle: str) -> frozenset[Principal]:
        return principals_at(self.server, handle)


@pytest.fixture(params=["cloud", "data-center"])
async def joined(request: pytest.FixtureRequest) -> AsyncIterator[Joined]:
    edition: Edition = request.param
    site = Site()
    site.add_person("ann")
    site.add_group("staff", ["ann", ADMIN])
    site.add_group("board", [ADMIN])
    site.add_space("IT", groups=["staff"])
    site.add_space("HR", groups=["staff"])
    async with LocalConfluence(site, edition).serving() as server, AsyncExitStack() as closing:
        yield Joined(site, server, closing)


def of(page_id: str, *, space: str = "IT", source: str = "confluence") -> Chunk:
    return replace(
        chunk("Text.", chunk_id=f"c-{page_id}", page_id=page_id), space=space, source_type=source
    )


async def still(joined: Joined, *chunks: Chunk, handle: str = "ann") -> set[str]:
    return set(await joined.check().readable_chunk_ids("acme", chunks, joined.asker(handle)))


async def test_what_may_be_read_stays(joined: Joined) -> None:
    home = joined.site.create("IT", "Home")
    page = joined.site.create("IT", "VPN", parent=home.id)
    file = joined.site.attach(page.id, "notes.txt", b"Words.")
    attached = of(f"{page.id}/{file.id}")
    folder = of("vpn.md", source="folder")

    asked = (of(home.id), of(page.id), attached, folder)
    assert await still(joined, *asked) == {one.id for one in asked}
    assert await joined.check().readable_chunk_ids("acme", asked, frozenset({EVERYONE})) == {
        folder.id
    }


GONE: dict[str, Callable[[Site, str, str], None]] = {
    "deleted": lambda site, _home, page: site.trash(page),
    "purged": lambda site, _home, page: site.purge(page),
    "archived": lambda site, _home, page: site.archive(page),
    "restricted": lambda site, _home, page: site.restrict(page, groups=["board"]),
    "restricted above": lambda site, home, _page: site.restrict(home, users=[ADMIN]),
    "closed": lambda site, _home, _page: site.revoke_space("IT", groups=["staff"]),
    "moved": lambda site, _home, page: site.move(page, None, space="HR"),
    "its reader left": lambda site, _home, _page: site.leave("ann", "staff"),
    "space archived": lambda site, _home, _page: site.archive_space("IT"),
}


@pytest.mark.parametrize("how", GONE)
async def test_what_may_not_be_read_any_more_goes_at_once(joined: Joined, how: str) -> None:
    home = joined.site.create("IT", "Home")
    page = joined.site.create("IT", "VPN", parent=home.id)
    file = joined.site.attach(page.id, "notes.txt", b"Words.")
    asked = (of(page.id), of(f"{page.id}/{file.id}"))
    check = joined.check()
    assert len(await check.readable_chunk_ids("acme", asked, joined.asker("ann"))) == 2

    GONE[how](joined.site, home.id, page.id)

    assert await check.readable_chunk_ids("acme", asked, joined.asker("ann")) == frozenset()


async def test_a_page_goes_with_what_it_includes(joined: Joined) -> None:
    terms = joined.site.create("IT", "Terms", "<p>Pay.</p>")
    page = joined.site.create("IT", "VPN", INCLUDE.format("Terms"))
    assert await still(joined, of(page.id)) == {of(page.id).id}

    joined.site.restrict(terms.id, groups=["board"])

    assert await still(joined, of(page.id)) == set()
    assert await still(joined, of(page.id), handle=ADMIN) == {of(page.id).id}


async def test_a_file_that_was_removed_goes_alone(joined: Joined) -> None:
    page = joined.site.create("IT", "VPN")
    file = joined.site.attach(page.id, "notes.txt", b"Words.")
    joined.site.detach(file.id)

    assert await still(joined, of(page.id), of(f"{page.id}/{file.id}")) == {of(page.id).id}


async def test_a_page_that_is_no_more_read_goes(joined: Joined) -> None:
    page = joined.site.create("IT", "VPN", labels=["secret"])
    rules = Rules(selection=Selection(skip_labels=frozenset({"secret"})))

    check = joined.check(rules=rules)
    assert await check.readable_chunk_ids("acme", [of(page.id)], joined.asker("ann")) == frozenset()


async def test_in_doubt_nothing_may_be_read_but_of_other_sources(joined: Joined) -> None:
    page, folder = joined.site.create("IT", "VPN"), of("vpn.md", source="folder")
    joined.server.faults.fail_always(ANY, unavailable())

    assert await still(joined, of(page.id), folder) == {folder.id}


async def test_one_page_in_doubt_leaves_the_others(joined: Joined) -> None:
    pages = [of(joined.site.create("IT", f"Page {number}").id) for number in range(3)]
    joined.server.faults.fail("restriction", unavailable())

    assert len(await still(joined, *pages)) == 2
    assert await still(joined, *pages) == {one.id for one in pages}


async def test_nobody_waits_longer_than_the_deadline(joined: Joined) -> None:
    page = joined.site.create("IT", "VPN")
    joined.server.faults.fail_always(ANY, slow(60))

    check = joined.check(seconds=0.05)
    assert await check.readable_chunk_ids("acme", [of(page.id)], joined.asker("ann")) == frozenset()


async def test_without_pages_of_confluence_nothing_is_asked(joined: Joined) -> None:
    await still(joined, of("vpn.md", source="folder"))

    assert joined.server.requests == []

"""What a site says of itself, asked by either edition over HTTP."""

from __future__ import annotations

from ingestion.confluence.assembly import open_wiki
from ingestion.confluence.wiki import WikiAbout
from tests.confluence.server import LocalConfluence
from tests.confluence.site import Site


async def about(server: LocalConfluence) -> WikiAbout:
    person = server.site.people["rita"]
    email = person.email if server.edition == "cloud" else None
    wiki = open_wiki(url=server.url, token=person.token, email=email, edition=server.edition)
    try:
        return await wiki.about()
    finally:
        await wiki.close()


async def test_a_site_tells_its_edition_its_time_and_whose_token_it_is(
    server: LocalConfluence, site: Site
) -> None:
    told = await about(server)

    assert (told.edition, told.base) == (server.edition, server.url)
    assert told.account is not None
    assert told.account.name == "Rita Reader"
    assert abs((told.asked_at - site.now).total_seconds()) < 30
    assert told.version == ("" if server.edition == "cloud" else "9.2.3")


async def test_a_site_that_is_too_old_to_say_so_has_no_version(site: Site) -> None:
    async with LocalConfluence(site, "data-center", options={"old": True}).serving() as server:
        assert (await about(server)).version == ""
    assert site.unexpected == []

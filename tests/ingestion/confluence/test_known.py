from __future__ import annotations

import pytest

from ingestion.confluence.rules import Rules, Selection
from ingestion.confluence.source import ConfluenceSources
from ingestion.errors import DocumentUnknown
from tests.confluence.site import Site
from tests.ingestion.confluence.fakes import SITE, SiteWiki


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
    await known.sources.of("IT")
    assert known.wiki.asked == ["spaces"]

    known.now = 61.0
    known.site.add_space("NEW")
    assert "NEW" in await known.sources.spaces()


async def test_a_space_that_is_named_needs_no_question() -> None:
    known = Known(Selection(spaces=frozenset({"IT"})))

    assert (await known.sources.of("IT")).space == "IT"
    assert known.wiki.asked == []


async def test_a_space_that_is_not_shown_is_unknown_with_the_cure() -> None:
    with pytest.raises(DocumentUnknown, match="CONFLUENCE_TOKEN"):
        await Known().sources.of("NO")


async def test_a_space_that_is_read_no_more_is_a_source_that_shows_nothing() -> None:
    source = await Known().sources.of("OLD")

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

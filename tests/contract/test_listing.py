"""What every index tells of what it holds, and a page read whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rag.ports import SearchIndex
from rag.types import EVERYONE, Principal, Readers
from tests.contract.conftest import LISTING
from tests.contract.pages import ANYONE, Draft, put

HR: Readers = (frozenset({Principal("group:hr")}),)
EVERYBODY = frozenset({EVERYONE})
OF_HR = frozenset({EVERYONE, Principal("group:hr")})


@pytest.fixture(params=LISTING)
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SearchIndex]:
    async with LISTING[request.param](tmp_path) as open_once_more:
        yield await open_once_more()


@pytest.fixture
async def listing(index: SearchIndex) -> SearchIndex:
    await put(index, Draft("b.md", ("One", "Two"), title="VPN client"))
    await put(index, Draft("a.md", ("One",), title="100% Wi_Fi"))
    await put(index, Draft("pay.md", ("Secret",), title="Pay", readers=HR))
    await put(index, Draft("x.md", ("Three",), space="hr", readers=HR))
    await put(index, Draft("a.md", ("Elsewhere",), tenant="other"))
    return index


async def ids(listing: SearchIndex, **asked: object) -> list[str]:
    pages = await listing.page_summaries("acme", "it", None, **asked)  # type: ignore[arg-type]
    return [page.id for page in pages]


async def test_spaces_are_counted_with_their_pages_and_chunks(listing: SearchIndex) -> None:
    spaces = await listing.space_summaries("acme", None)

    assert [(one.space, one.pages, one.chunks) for one in spaces] == [("hr", 1, 1), ("it", 3, 4)]


async def test_what_may_not_be_read_is_neither_listed_nor_counted(listing: SearchIndex) -> None:
    (it,) = await listing.space_summaries("acme", EVERYBODY)

    assert (it.space, it.pages, it.chunks) == ("it", 2, 3)
    pages = await listing.page_summaries("acme", "it", EVERYBODY)
    assert [page.id for page in pages] == ["a.md", "b.md"]
    assert await listing.page_summary("acme", "it", "pay.md", EVERYBODY) is None
    seen = await listing.page_summary("acme", "it", "pay.md", OF_HR)
    assert seen
    assert seen.readers == HR


@pytest.mark.mended(id="confluence-6")
async def test_pages_are_paged_by_their_id(listing: SearchIndex) -> None:
    assert await ids(listing, limit=2) == ["a.md", "b.md"]
    assert await ids(listing, limit=2, after="b.md") == ["pay.md"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("vpn CLIENT", ["b.md"]),
        ("b.md", ["b.md"]),
        ("100%", ["a.md"]),
        ("wi_fi", ["a.md"]),
        ("%", ["a.md"]),
        ("!", []),
        ("vpn pay", []),
        (" ", ["a.md", "b.md", "pay.md"]),
        ("\x00'\"", []),
    ],
)
async def test_pages_are_found_by_all_words_of_name_or_title(
    listing: SearchIndex, words: str, found: list[str]
) -> None:
    assert await ids(listing, words=words) == found


async def test_a_page_is_found_by_the_first_address_that_has_one(listing: SearchIndex) -> None:
    page = await listing.page_summary("acme", "it", "b.md", None)
    other = await listing.page_summary("acme", "it", "a.md", None)
    assert page
    assert other

    assert (
        await listing.page_at("acme", ["https://none.example", page.url, other.url], None) == page
    )
    assert await listing.page_at("acme", [other.url, page.url], None) == other
    assert await listing.page_at("acme", ["https://none.example", ""], None) is None
    assert await listing.page_at("acme", [], None) is None


async def test_an_address_tells_nothing_of_a_page_that_may_not_be_seen(
    listing: SearchIndex,
) -> None:
    pay = await listing.page_summary("acme", "it", "pay.md", None)
    assert pay

    assert await listing.page_at("acme", [pay.url], EVERYBODY) is None
    assert await listing.page_at("acme", [pay.url], OF_HR) == pay
    assert await listing.page_at("nobody", [pay.url], None) is None


async def test_a_page_without_text_is_listed_by_its_name(listing: SearchIndex) -> None:
    await put(listing, Draft("empty.md", (), readers=ANYONE))

    page = await listing.page_summary("acme", "it", "empty.md", None)

    assert page
    assert (page.title, page.chunks, page.url, page.source_type) == ("empty.md", 0, "", "")


async def test_a_space_is_of_the_source_of_its_pages(listing: SearchIndex) -> None:
    assert {one.source_type for one in await listing.space_summaries("acme", None)} == {"folder"}
    assert await listing.space_summaries("nobody", None) == ()


async def test_a_page_is_read_whole_and_in_order(listing: SearchIndex) -> None:
    long = Draft("long.md", tuple(f"Step {number}" for number in range(12)))
    await put(listing, long)

    assert await listing.page("acme", "it", "long.md", EVERYBODY) == long.chunks
    assert await listing.page("acme", "it", "absent.md", EVERYBODY) == ()
    assert await listing.page("other", "it", "long.md", EVERYBODY) == ()


async def test_a_page_is_read_by_whom_it_is_open_to(listing: SearchIndex) -> None:
    assert await listing.page("acme", "it", "pay.md", EVERYBODY) == ()
    assert len(await listing.page("acme", "it", "pay.md", OF_HR)) == 1


async def test_any_number_of_pages_is_told(index: SearchIndex) -> None:
    drafts = [Draft(f"{number:05}", (), version=str(number)) for number in range(1100)]
    await put(index, *drafts)

    kept = await index.pages("acme", "it")

    assert [page.version for page in kept.values()] == [draft.version for draft in drafts]

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rag.index.embedded import EmbeddedIndex, fingerprint_of, open_index
from rag.types import EVERYONE, Principal, Readers
from tests.contract.pages import ANYONE, EMBEDDER, Draft, put

HR: Readers = (frozenset({Principal("group:hr")}),)
EVERYBODY = frozenset({EVERYONE})
OF_HR = frozenset({EVERYONE, Principal("group:hr")})


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[EmbeddedIndex]:
    opened = await open_index(tmp_path / "index.sqlite", fingerprint_of(EMBEDDER))
    await put(opened, Draft("b.md", ("One", "Two"), title="VPN client"))
    await put(opened, Draft("a.md", ("One",), title="100% Wi_Fi"))
    await put(opened, Draft("pay.md", ("Secret",), title="Pay", readers=HR))
    await put(opened, Draft("x.md", ("Three",), space="hr", readers=HR))
    await put(opened, Draft("a.md", ("Elsewhere",), tenant="other"))
    yield opened
    await opened.close()


async def ids(index: EmbeddedIndex, **asked: object) -> list[str]:
    pages = await index.page_summaries("acme", "it", None, **asked)  # type: ignore[arg-type]
    return [page.id for page in pages]


async def test_spaces_are_counted_with_their_pages_and_chunks(index: EmbeddedIndex) -> None:
    spaces = await index.space_summaries("acme", None)

    assert [(one.space, one.pages, one.chunks) for one in spaces] == [("hr", 1, 1), ("it", 3, 4)]


async def test_what_may_not_be_read_is_neither_listed_nor_counted(index: EmbeddedIndex) -> None:
    (it,) = await index.space_summaries("acme", EVERYBODY)

    assert (it.space, it.pages, it.chunks) == ("it", 2, 3)
    pages = await index.page_summaries("acme", "it", EVERYBODY)
    assert [page.id for page in pages] == ["a.md", "b.md"]
    assert await index.page_summary("acme", "it", "pay.md", EVERYBODY) is None
    seen = await index.page_summary("acme", "it", "pay.md", OF_HR)
    assert seen
    assert seen.readers == HR


async def test_pages_are_paged_by_their_id(index: EmbeddedIndex) -> None:
    assert await ids(index, limit=2) == ["a.md", "b.md"]
    assert await ids(index, limit=2, after="b.md") == ["pay.md"]


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
    index: EmbeddedIndex, words: str, found: list[str]
) -> None:
    assert await ids(index, words=words) == found


async def test_a_page_is_found_by_the_first_address_that_has_one(index: EmbeddedIndex) -> None:
    page = await index.page_summary("acme", "it", "b.md", None)
    other = await index.page_summary("acme", "it", "a.md", None)
    assert page
    assert other

    assert await index.page_at("acme", ["https://none.example", page.url, other.url], None) == page
    assert await index.page_at("acme", [other.url, page.url], None) == other
    assert await index.page_at("acme", ["https://none.example", ""], None) is None
    assert await index.page_at("acme", [], None) is None


async def test_an_address_tells_nothing_of_a_page_that_may_not_be_seen(
    index: EmbeddedIndex,
) -> None:
    pay = await index.page_summary("acme", "it", "pay.md", None)
    assert pay

    assert await index.page_at("acme", [pay.url], EVERYBODY) is None
    assert await index.page_at("acme", [pay.url], OF_HR) == pay
    assert await index.page_at("nobody", [pay.url], None) is None


async def test_a_page_without_text_is_listed_by_its_name(index: EmbeddedIndex) -> None:
    await put(index, Draft("empty.md", (), readers=ANYONE))

    page = await index.page_summary("acme", "it", "empty.md", None)

    assert page
    assert (page.title, page.chunks, page.url, page.source_type) == ("empty.md", 0, "", "")

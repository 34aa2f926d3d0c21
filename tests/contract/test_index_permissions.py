"""No search, list or read of an index shows what the asker may not read."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.ports import ReadsChunks, SearchIndex
from rag.types import EVERYONE, Principal, Readers
from tests.contract.conftest import IMPLEMENTATIONS, LISTING, OpenIndex
from tests.fakes.passages import ANYONE, Draft, ask, page_ids, put

pytestmark = pytest.mark.attack

ANN = Principal("user:ann")
STAFF = Principal("group:staff")
SECRET = Draft("secret", ("VPN token",), readers=(frozenset({STAFF}), frozenset({ANN})))
SETS = [
    frozenset(names)
    for size in range(4)
    for names in itertools.combinations((EVERYONE, ANN, STAFF), size)
]
ALL_READERS: list[Readers] = [
    readers for length in range(3) for readers in itertools.combinations(SETS, length)
]


def may_read(readers: Readers, principals: frozenset[Principal]) -> bool:
    """The rule, said once more in other words than the index says it."""
    if len(readers) == 0:
        return False
    return not any(names & principals == frozenset() for names in readers)


async def test_every_kind_of_readers_is_kept_from_every_kind_of_asker(
    index: SearchIndex,
) -> None:
    """All readers over three principals, in two tenants and spaces: some 10,000 cases."""
    drafts = [
        Draft(f"p{number}", ("VPN token",), tenant=tenant, space=space, readers=readers)
        for tenant in ("acme", "other")
        for space in ("it", "hr")
        for number, readers in enumerate(ALL_READERS)
    ]
    await put(index, *drafts)
    judged = 0

    for principals in SETS:
        for spaces in (None, frozenset({"it"}), frozenset({"it", "hr"})):
            for vector in (True, False):
                names = principals or {"nobody"}
                found = await ask(index, "VPN", *names, k=400, spaces=spaces, vector=vector)
                shown = {(p.chunk.tenant, p.chunk.space, p.chunk.page_id) for p in found}
                assert shown == {
                    (draft.tenant, draft.space, draft.id)
                    for draft in drafts
                    if draft.tenant == "acme"
                    and (spaces is None or draft.space in spaces)
                    and may_read(draft.readers, principals)
                }
                judged += len(drafts)

    assert judged > 7000


async def test_what_may_not_be_read_takes_no_candidate_from_what_may(index: SearchIndex) -> None:
    """Permissions are inside both searches: 250 better matches can't push one page out."""
    crowd = [replace(SECRET, id=f"s{number}", texts=("VPN token",) * 10) for number in range(25)]
    open_page = Draft("open", ("One token in a longer text that matches less well",))
    await put(index, *crowd, open_page)

    (passage,) = await ask(index, "VPN token")

    assert passage.chunk.page_id == "open"
    assert passage.signals["keyword_rank"] == passage.signals["vector_rank"] == 1


async def test_new_readers_count_at_once_for_every_reader(
    index: SearchIndex, open_again: OpenIndex
) -> None:
    other = await open_again()
    await put(index, SECRET)
    assert await ask(other, "VPN") == ()

    await index.set_readers("acme", "it", "secret", ANYONE)
    for reader in (index, other):
        (passage,) = await ask(reader, "VPN")
        assert passage.chunk.readers == ANYONE
        assert "vector" in passage.signals
    assert (await index.pages("acme", "it"))["secret"].readers == ANYONE

    await index.set_readers("acme", "it", "secret", ())
    for reader in (index, other):
        assert await ask(reader, "VPN", EVERYONE, STAFF, ANN) == ()
        assert await ask(reader, "VPN", EVERYONE, STAFF, ANN, vector=False) == ()


async def test_readers_of_an_unknown_page_change_nothing(index: SearchIndex) -> None:
    await put(index, SECRET)

    await index.set_readers("acme", "it", "absent", ANYONE)
    await index.set_readers("other", "it", "secret", ANYONE)

    assert await ask(index, "VPN") == ()
    assert set(await index.pages("acme", "it")) == {"secret"}


async def test_a_page_that_comes_back_has_its_new_readers_only(index: SearchIndex) -> None:
    await put(index, replace(SECRET, readers=ANYONE))
    await put(index, replace(SECRET, version="2"))

    assert await ask(index, "VPN") == ()
    assert page_ids(await ask(index, "VPN", STAFF, ANN)) == ["secret"]


PRINCIPALS = st.one_of(
    st.sampled_from(["everyone", "Everyone", "user:", "user:a", "user:b", "group:a", "group:a,b"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
).map(Principal)
READERS = st.lists(st.frozensets(PRINCIPALS, max_size=3), max_size=3).map(tuple)
STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "restrict", "delete"]), st.integers(0, 4), READERS),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(steps=STEPS, askers=st.lists(st.frozensets(PRINCIPALS, max_size=3), min_size=3, max_size=6))
def test_no_history_of_changes_ever_leaks(
    implementation: str,
    steps: list[tuple[str, int, Readers]],
    askers: list[frozenset[Principal]],
) -> None:
    asyncio.run(_replay(implementation, steps, askers))


async def _replay(
    implementation: str,
    steps: list[tuple[str, int, Readers]],
    askers: list[frozenset[Principal]],
) -> None:
    pages: dict[str, Readers] = {}
    with tempfile.TemporaryDirectory() as directory:
        async with IMPLEMENTATIONS[implementation](Path(directory)) as open_again:
            index = await open_again()
            for kind, number, readers in steps:
                await _step(index, pages, kind, f"p{number}", readers)
                for asker in askers:
                    names = asker or {"nobody"}
                    expected = {
                        page for page, kept in pages.items() if may_read(kept, asker or frozenset())
                    }
                    assert set(page_ids(await ask(index, "VPN", *names))) == expected


async def _step(
    index: SearchIndex, pages: dict[str, Readers], kind: str, page_id: str, readers: Readers
) -> None:
    if kind == "put":
        await put(index, Draft(page_id, ("VPN token",), readers=readers))
        pages[page_id] = readers
    elif kind == "restrict":
        await index.set_readers("acme", "it", page_id, readers)
        if page_id in pages:
            pages[page_id] = readers
    else:
        await index.delete_pages("acme", "it", [page_id])
        pages.pop(page_id, None)


HR: Readers = (frozenset({Principal("group:hr")}),)
EVERYBODY = frozenset({EVERYONE})
OF_HR = frozenset({EVERYONE, Principal("group:hr")})


@pytest.fixture(params=LISTING)
async def listing_index(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[SearchIndex]:
    async with LISTING[request.param](tmp_path) as open_once_more:
        yield await open_once_more()


@pytest.fixture
async def listing(listing_index: SearchIndex) -> SearchIndex:
    await put(listing_index, Draft("b.md", ("One", "Two"), title="VPN client"))
    await put(listing_index, Draft("a.md", ("One",), title="100% Wi_Fi"))
    await put(listing_index, Draft("pay.md", ("Secret",), title="Pay", readers=HR))
    await put(listing_index, Draft("x.md", ("Three",), space="hr", readers=HR))
    await put(listing_index, Draft("a.md", ("Elsewhere",), tenant="other"))
    return listing_index


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


async def test_any_number_of_pages_is_told(
    listing_index: SearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.index.azure.queries.PAGE_SIZE", 50)
    drafts = [Draft(f"{number:05}", (), version=str(number)) for number in range(110)]
    await put(listing_index, *drafts)

    kept = await listing_index.pages("acme", "it")

    assert [page.version for page in kept.values()] == [draft.version for draft in drafts]


GUIDE = Draft("guide", tuple(f"Step {number}" for number in range(3)))
PAY = Draft(
    "pay", ("Pay rises in May.",), space="hr", readers=(frozenset({Principal("group:hr")}),)
)
OTHERS = Draft("theirs", ("Another company's.",), tenant="other")
SEALED = Draft("sealed", ("Nobody reads this.",), readers=())
DRAFTS = (GUIDE, PAY, OTHERS, SEALED)
ALL_IDS = [chunk.id for draft in DRAFTS for chunk in draft.chunks]


async def test_chunks_of_any_space_are_given_to_those_who_may_read_them(
    index: SearchIndex,
) -> None:
    assert isinstance(index, ReadsChunks)
    await put(index, *DRAFTS)

    assert await index.chunks("acme", ALL_IDS, EVERYBODY) == {
        each.id: each for each in GUIDE.chunks
    }
    assert await index.chunks("acme", ALL_IDS, OF_HR) == {
        each.id: each for each in (*GUIDE.chunks, *PAY.chunks)
    }
    assert await index.chunks("acme", ALL_IDS, frozenset()) == {}


async def test_only_what_is_asked_for_and_still_there_is_given(index: SearchIndex) -> None:
    assert isinstance(index, ReadsChunks)
    await put(index, *DRAFTS)
    first, second, _ = (chunk.id for chunk in GUIDE.chunks)

    assert set(await index.chunks("acme", [first, "never-there", "a'b|c"], EVERYBODY)) == {first}
    assert await index.chunks("acme", [], EVERYBODY) == {}
    await index.delete_pages("acme", "it", ["guide"])
    assert await index.chunks("acme", [first, second], EVERYBODY) == {}


async def test_any_number_of_chunks_can_be_asked_for(index: SearchIndex) -> None:
    assert isinstance(index, ReadsChunks)
    long = Draft("long", tuple(f"Line {number}" for number in range(700)))
    await put(index, long)

    found = await index.chunks("acme", [chunk.id for chunk in long.chunks], EVERYBODY)

    assert found == {chunk.id: chunk for chunk in long.chunks}

"""No search ever shows what the asker may not read."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.ports import SearchIndex
from rag.types import EVERYONE, Principal, Readers
from tests.contract.conftest import IMPLEMENTATIONS, OpenIndex
from tests.contract.pages import ANYONE, Draft, ask, page_ids, put

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
    crowd = [replace(SECRET, id=f"s{number}") for number in range(250)]
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
@settings(max_examples=60, deadline=None)
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

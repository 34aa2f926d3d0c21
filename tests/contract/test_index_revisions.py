"""What a revision tells of an index: which readers find the same, and since when."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from rag.ports import SearchIndex
from rag.types import EVERYONE, Principal
from tests.contract.conftest import OpenIndex
from tests.fakes.passages import ANYONE, Draft, draft, put

HR = Principal("group:hr")
BOARD = Principal("group:board")
ALL_OF_US = frozenset({EVERYONE})
VPN = draft("vpn", "The VPN needs a token.")
PAY = Draft("pay", ("Pay bands.",), space="hr", readers=(frozenset({HR}),))
IN_IT = frozenset({"it"})


@pytest.fixture
async def filled(index: SearchIndex) -> SearchIndex:
    await put(index, VPN, draft("leave", "Annual leave."), PAY, replace(VPN, tenant="other"))
    return index


Change = Callable[[SearchIndex], Awaitable[object]]
CHANGES: dict[str, Change] = {
    "a page is written": lambda index: put(index, draft("new", "Something new.")),
    "a page is written as it was": lambda index: put(index, VPN),
    "a page is removed": lambda index: index.delete_pages("acme", "it", ["vpn"]),
    "a page gets other readers": lambda index: index.set_readers(
        "acme", "it", "vpn", (frozenset({HR}),)
    ),
}
ELSEWHERE: dict[str, Change] = {
    "another space": lambda index: put(index, replace(PAY, version="2")),
    "another tenant": lambda index: put(index, replace(VPN, tenant="other", version="2")),
    "a page that is not there": lambda index: index.delete_pages("acme", "it", ["never"]),
    "readers of none": lambda index: index.set_readers("acme", "it", "never", ANYONE),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("spaces", [IN_IT, None], ids=["its space", "all spaces"])
async def test_a_change_gives_the_spaces_searched_another_revision(
    filled: SearchIndex, change: Change, spaces: frozenset[str] | None
) -> None:
    before = await filled.revision("acme", spaces, ALL_OF_US)
    await change(filled)

    after = await filled.revision("acme", spaces, ALL_OF_US)
    assert before
    assert after not in {None, before}


@pytest.mark.parametrize("change", ELSEWHERE.values(), ids=ELSEWHERE.keys())
async def test_a_change_elsewhere_leaves_the_revision(filled: SearchIndex, change: Change) -> None:
    before = await filled.revision("acme", IN_IT, ALL_OF_US)
    await change(filled)

    assert await filled.revision("acme", IN_IT, ALL_OF_US) == before


async def test_a_revision_does_not_come_back_with_the_former_pages(filled: SearchIndex) -> None:
    before = await filled.revision("acme", IN_IT, ALL_OF_US)
    await filled.set_readers("acme", "it", "vpn", ())
    await filled.set_readers("acme", "it", "vpn", VPN.readers)

    assert await filled.revision("acme", IN_IT, ALL_OF_US) != before


@pytest.mark.parametrize(
    "other",
    [frozenset({EVERYONE, HR}), frozenset({HR}), frozenset[Principal]()],
    ids=["more", "a group's", "none"],
)
async def test_readers_of_other_pages_never_share_a_revision(
    filled: SearchIndex, other: frozenset[Principal]
) -> None:
    assert await filled.revision("acme", None, ALL_OF_US) != await filled.revision(
        "acme", None, other
    )


async def test_tenants_and_spaces_never_share_a_revision(filled: SearchIndex) -> None:
    places = [("acme", None), ("acme", IN_IT), ("acme", frozenset({"hr"})), ("other", None)]
    found = [await filled.revision(*place, frozenset({EVERYONE, HR})) for place in places]

    assert len(set(found)) == len(places)


async def test_every_process_sees_the_same_revision(
    filled: SearchIndex, open_again: OpenIndex
) -> None:
    other = await open_again()
    await put(filled, draft("new", "Something new."))

    assert await other.revision("acme", None, ALL_OF_US) == await filled.revision(
        "acme", None, ALL_OF_US
    )


async def test_an_index_without_pages_vouches_for_none_that_came_later(index: SearchIndex) -> None:
    before = await index.revision("acme", None, ALL_OF_US)
    await put(index, VPN)

    assert await index.revision("acme", None, ALL_OF_US) not in {None, before}

"""Whoever writes is killed before any one of its requests; the next sync sees what is left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from rag.errors import IndexUnavailable
from rag.index.azure.index import AzureIndex
from rag.ports import SearchIndex
from rag.types import Principal, Readers
from tests.contract.pages import ANYONE, Draft, ask, put
from tests.rag.index.azure.opened import opened
from tests.search_service.service import SearchService

CLOSED: Readers = (frozenset({Principal("group:board")}),)
TEXTS = tuple(f"VPN token part {number}" for number in range(450))
"""More than two batches of chunks."""

Step = Callable[[SearchIndex], Awaitable[object]]


def draft(readers: Readers, version: str = "1", texts: tuple[str, ...] = TEXTS) -> Draft:
    return Draft("p", texts, readers=readers, version=version)


async def opened_up(index: SearchIndex) -> None:
    await index.set_readers("acme", "it", "p", ANYONE)


async def rewritten(index: SearchIndex) -> None:
    await put(index, draft(ANYONE, "2"))


async def removed(index: SearchIndex) -> None:
    await index.delete_pages("acme", "it", ["p"])


async def killed(service: SearchService, step: Step, *, after: int) -> None:
    """Do a step in a process of its own that is killed after so many writes."""
    async with opened(service) as index:
        service.faults.slow("index", 0.0, times=after)
        service.faults.refuse("index", 403, times=100)
        with suppress(IndexUnavailable):
            await step(index)
        service.faults.clear()


async def synced(index: SearchIndex, wanted: Draft | None) -> None:
    """Do what a sync does for one page: compare, and write what differs, readers first."""
    stored = (await index.pages("acme", "it")).get("p")
    if wanted is None:
        await index.delete_pages("acme", "it", ["p"] if stored else [])
        return
    if stored is not None and stored.readers != wanted.readers:
        await index.set_readers("acme", "it", "p", wanted.readers)
    if stored is None or stored.version != wanted.version:
        await put(index, wanted)


@pytest.mark.parametrize("step", [opened_up, rewritten, removed])
@pytest.mark.parametrize("after", range(8))
async def test_what_is_closed_again_after_a_kill_is_closed_and_whole(
    service: SearchService, index: AzureIndex, step: Step, after: int
) -> None:
    await put(index, draft(CLOSED))
    await killed(service, step, after=after)

    await synced(index, draft(CLOSED))

    assert await ask(index, "VPN token part") == ()
    assert await index.page("acme", "it", "p", CLOSED[0]) == draft(CLOSED).chunks


@pytest.mark.parametrize("after", range(7))
async def test_what_is_gone_after_a_kill_is_gone(
    service: SearchService, index: AzureIndex, after: int
) -> None:
    await killed(service, rewritten, after=after)

    await synced(index, None)

    assert await ask(index, "VPN token part") == ()


@pytest.mark.parametrize("after", range(7))
async def test_a_page_being_closed_is_never_settled_with_an_open_part(
    service: SearchService, index: AzureIndex, after: int
) -> None:
    """Also when the text can't be read the next time: readers are set all the same."""
    await put(index, draft(CLOSED))
    await killed(service, rewritten, after=after)

    await index.set_readers("acme", "it", "p", CLOSED)

    assert await ask(index, "VPN token part") == ()


async def test_a_page_of_which_not_all_can_be_found_yet_is_to_be_done_again(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, draft(ANYONE, "1", TEXTS[:2]))
    service.indexes.visible_after = 1000.0
    await put(index, draft(ANYONE, "2", TEXTS[:4]))
    await index.set_readers("acme", "it", "p", CLOSED)
    service.indexes.visible_after = 0.0
    service.indexes.now = lambda: float("inf")

    await synced(index, draft(CLOSED, "2", TEXTS[:4]))

    assert await ask(index, "VPN token part") == ()

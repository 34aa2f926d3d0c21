"""Writing in batches: refusals, retries, and a writer that is killed at any request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from rag.errors import IndexUnavailable
from rag.index.azure.index import AzureIndex
from rag.index.azure.writer import MOST_BYTES, MOST_DOCUMENTS, Change, batches, estimated_bytes
from rag.ports import SearchIndex
from rag.types import EVERYONE, Page, Principal, Readers
from tests.fakes.azure_index import QUICK_OPENING, open_test_index
from tests.fakes.passages import ANYONE, EMBEDDER, Draft, ask, draft, put
from tests.fakes.search_service.service import SearchService

LONG = draft("long", *(f"VPN token {number}" for number in range(450)))
EVERYBODY = frozenset({EVERYONE})
ANN = Principal("user:ann")


def uploads(count: int, size: int = 0) -> list[Change]:
    return [Change("upload", {"id": str(number), "text": "x" * size}) for number in range(count)]


def test_a_batch_holds_so_many_documents_and_so_many_bytes_at_most() -> None:
    assert [len(one) for one in batches(uploads(450))] == [MOST_DOCUMENTS, MOST_DOCUMENTS, 50]
    heavy = [*batches(uploads(5, MOST_BYTES // 2 - 100))]
    assert [len(one) for one in heavy] == [2, 2, 1]
    assert [len(one) for one in batches(uploads(2, MOST_BYTES + 1))] == [1, 1]


def test_vectors_are_counted_by_their_length() -> None:
    bare = estimated_bytes({"id": "1"})

    assert estimated_bytes({"id": "1", "embedding": [0.1] * 1000}) > bare + 10_000


async def test_a_long_page_is_sent_in_batches(service: SearchService, index: AzureIndex) -> None:
    await put(index, LONG)

    assert await index.spaces("acme") == {"it": 450}
    sizes = [len(one.body["value"]) for one in service.requests if one.kind == "index"]
    assert max(sizes) == MOST_DOCUMENTS


async def test_a_batch_that_is_too_large_is_halved_until_it_is_taken(
    service: SearchService, index: AzureIndex
) -> None:
    service.faults.largest_body = 20_000

    await put(index, LONG)

    assert await index.spaces("acme") == {"it": 450}


async def test_a_document_that_is_too_large_is_named(
    service: SearchService, index: AzureIndex
) -> None:
    service.faults.largest_body = 5_000

    with pytest.raises(IndexUnavailable, match="'acme-it-big-1-0': it is too large"):
        await put(index, draft("big", "word " * 2000))

    assert [page.version for page in (await index.pages("acme", "it")).values()] == [""]


@pytest.mark.parametrize("status", [409, 422, 429, 503])
async def test_documents_that_fail_in_passing_are_sent_again_and_no_others(
    service: SearchService, index: AzureIndex, status: int
) -> None:
    page = draft("vpn", "VPN one", "VPN two", "VPN three")
    service.faults.fail_items(status, times=2, keys={"acme-it-vpn-1-1"})

    await put(index, page)

    assert await index.page("acme", "it", "vpn", EVERYBODY) == page.chunks
    sent = [
        [one["id"] for one in request.body["value"]]
        for request in service.requests
        if request.kind == "index"
    ]
    assert sent.count(["acme-it-vpn-1-1"]) == 2


async def test_a_document_that_is_refused_is_named_and_its_page_is_to_be_done_again(
    service: SearchService, index: AzureIndex
) -> None:
    service.faults.fail_items(400, keys={"acme-it-vpn-1-1"})
    page = draft("vpn", "VPN one", "VPN two")

    with pytest.raises(IndexUnavailable, match=r"'acme-it-vpn-1-1' \(400\)"):
        await put(index, page)
    assert [page.version for page in (await index.pages("acme", "it")).values()] == [""]

    await put(index, page)
    assert set(await index.pages("acme", "it")) == {"vpn"}


@pytest.mark.parametrize("retry_after", [None, "0"])
async def test_a_busy_service_is_asked_again(
    service: SearchService, index: AzureIndex, retry_after: str | None
) -> None:
    service.faults.refuse("index", 429, times=2, retry_after=retry_after)
    service.faults.refuse("search", 503, times=2, retry_after=retry_after)

    await put(index, draft("vpn", "VPN"))

    assert len(await ask(index, "VPN")) == 1


async def test_a_batch_of_which_nobody_knows_is_sent_again_without_harm(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, draft("other", "Other"))
    service.faults.cut("index", "after")

    await put(index, draft("vpn", "VPN"))

    assert await index.spaces("acme") == {"it": 2}


async def test_every_kill_between_two_writes_leaves_a_page_that_is_done_again(
    service: SearchService, index: AzureIndex
) -> None:
    old = draft("vpn", *(f"VPN old {number}" for number in range(5)))
    new = Draft("vpn", ("VPN new",), version="2")
    await put(index, old)
    for survived in range(3):
        await _killed_after(service, index, new, survived)
        if (await index.pages("acme", "it"))["vpn"].version != "2":
            await put(index, new)
        assert await index.page("acme", "it", "vpn", EVERYBODY) == new.chunks
        await put(index, old)


async def test_a_kill_while_a_page_is_written_leaves_no_former_revision(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, Draft("vpn", ("VPN old", "VPN older"), version="1"))
    before = await index.revision("acme", None, EVERYBODY)
    for survived in range(1, 3):
        await _killed_after(service, index, Draft("vpn", ("VPN new",), version="2"), survived)

        assert await index.revision("acme", None, EVERYBODY) != before


async def test_a_space_that_has_just_changed_has_no_revision_yet(service: SearchService) -> None:
    opening = replace(QUICK_OPENING, settled_seconds=60.0)
    async with open_test_index(service, opening=opening) as index:
        await put(index, draft("vpn", "VPN"))

        assert await index.revision("acme", None, EVERYBODY) is None


async def _killed_after(
    service: SearchService, index: AzureIndex, page: Draft, requests: int
) -> None:
    """Write a page to a service that takes so many requests and refuses the next."""
    service.faults.slow("index", 0.0, times=requests)
    service.faults.refuse("index", 403)
    with pytest.raises(IndexUnavailable, match="403"):
        await put(index, page)


async def test_the_readers_of_a_page_change_without_its_vectors_being_sent(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, LONG)
    before = len(service.requests)

    await index.set_readers("acme", "it", "long", ())

    sent = [one for one in service.requests[before:] if one.kind == "index"]
    assert all("embedding" not in one for request in sent for one in request.body["value"])
    assert await ask(index, "VPN") == ()
    await index.set_readers("acme", "it", "long", ANYONE)
    assert (await ask(index, "VPN"))[0].signals["vector"] > 0


async def test_what_former_readers_could_find_goes_before_anything_new_is_written(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, draft("vpn", "VPN old"))
    before = len(service.requests)

    await put(index, Draft("vpn", ("VPN new",), version="2", readers=(frozenset({ANN}),)))

    kinds = [
        (one["@search.action"], one["id"])
        for request in service.requests[before:]
        if request.kind == "index"
        for one in request.body["value"]
        if not one["id"].startswith("revision=")
    ]
    assert kinds[1:3] == [("delete", "acme-it-vpn-1-0"), ("upload", "acme-it-vpn-2-0")]


async def test_numbers_are_sent_as_short_as_they_are_exact(
    service: SearchService, index: AzureIndex
) -> None:
    (chunk,) = draft("vpn", "VPN").chunks
    vector = np.full((1, EMBEDDER.dimensions), 1 / 3, dtype=np.float32)

    await index.upsert_page(Page("acme", "it", "vpn", "1", ANYONE), [chunk], vector)

    assert service.documents("confluence-chunks")[chunk.id]["embedding"][0] == 0.33333334


CLOSED: Readers = (frozenset({Principal("group:board")}),)
TEXTS = tuple(f"VPN token part {number}" for number in range(9))
"""More than two batches of chunks, where one holds four."""


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.index.azure.writer.MOST_DOCUMENTS", 4)


Step = Callable[[SearchIndex], Awaitable[object]]


def text_draft(readers: Readers, version: str = "1", texts: tuple[str, ...] = TEXTS) -> Draft:
    return Draft("p", texts, readers=readers, version=version)


async def opened_up(index: SearchIndex) -> None:
    await index.set_readers("acme", "it", "p", ANYONE)


async def rewritten(index: SearchIndex) -> None:
    await put(index, text_draft(ANYONE, "2"))


async def removed(index: SearchIndex) -> None:
    await index.delete_pages("acme", "it", ["p"])


async def kill_during(service: SearchService, step: Step, *, after: int) -> None:
    """Do a step in a process of its own that is killed after so many writes."""
    async with open_test_index(service) as index:
        service.faults.slow("index", 0.0, times=after)
        service.faults.refuse("index", 403, times=100)
        with suppress(IndexUnavailable):
            await step(index)
        service.faults.clear()


async def sync_again(index: SearchIndex, wanted: Draft | None) -> None:
    """Do what a sync does for one page: compare, and write what differs, readers first."""
    stored = (await index.pages("acme", "it")).get("p")
    if wanted is None:
        await index.delete_pages("acme", "it", ["p"] if stored else [])
        return
    if stored is not None and stored.readers != wanted.readers:
        await index.set_readers("acme", "it", "p", wanted.readers)
    if stored is None or stored.version != wanted.version:
        await put(index, wanted)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("step", [opened_up, rewritten, removed])
@pytest.mark.parametrize("after", range(8))
async def test_what_is_closed_again_after_a_kill_is_closed_and_whole(
    service: SearchService, index: AzureIndex, step: Step, after: int
) -> None:
    await put(index, text_draft(CLOSED))
    await kill_during(service, step, after=after)

    await sync_again(index, text_draft(CLOSED))

    assert await ask(index, "VPN token part") == ()
    assert await index.page("acme", "it", "p", CLOSED[0]) == text_draft(CLOSED).chunks


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("after", range(7))
async def test_what_is_gone_after_a_kill_is_gone(
    service: SearchService, index: AzureIndex, after: int
) -> None:
    await kill_during(service, rewritten, after=after)

    await sync_again(index, None)

    assert await ask(index, "VPN token part") == ()


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("after", range(7))
async def test_a_page_being_closed_is_never_settled_with_an_open_part(
    service: SearchService, index: AzureIndex, after: int
) -> None:
    """Also when the text can't be read the next time: readers are set all the same."""
    await put(index, text_draft(CLOSED))
    await kill_during(service, rewritten, after=after)

    await index.set_readers("acme", "it", "p", CLOSED)

    assert await ask(index, "VPN token part") == ()


async def test_a_page_of_which_not_all_can_be_found_yet_is_to_be_done_again(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, text_draft(ANYONE, "1", TEXTS[:2]))
    service.indexes.visible_after = 1000.0
    await put(index, text_draft(ANYONE, "2", TEXTS[:4]))
    await index.set_readers("acme", "it", "p", CLOSED)
    service.indexes.visible_after = 0.0
    service.indexes.now = lambda: float("inf")

    await sync_again(index, text_draft(CLOSED, "2", TEXTS[:4]))

    assert await ask(index, "VPN token part") == ()

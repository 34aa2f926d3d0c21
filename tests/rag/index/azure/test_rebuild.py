"""A new version is filled while the former is read, and takes its place in one step."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from rag.errors import IndexMismatch, IndexUnavailable
from rag.index.azure.connection import IndexAbsent
from rag.index.azure.index import AzureIndex, Rebuild, open_azure_rebuild
from rag.index.azure.versions import next_name, version_name, version_number
from rag.ports import Embedder
from tests.contract.pages import EMBEDDER, ask, draft, page_ids, put
from tests.fakes import WordEmbedder
from tests.rag.index.azure.opened import NAME, QUICK, expected_of, opened, settings_of
from tests.search_service.service import SearchService

VPN = draft("vpn", "VPN needs a token.")
LEAVE = draft("leave", "Annual leave is requested in the portal.")
AT_ONCE = replace(QUICK, asked_every_seconds=0.0)


class Wider(WordEmbedder):
    name = "words@wide"
    dimensions = 128


@asynccontextmanager
async def rebuilding(
    service: SearchService, embedder: Embedder = EMBEDDER
) -> AsyncIterator[Rebuild]:
    rebuild = await open_azure_rebuild(settings_of(service), expected_of(embedder), opening=QUICK)
    try:
        yield rebuild
    finally:
        await rebuild.close()


def test_versions_are_told_by_their_names() -> None:
    assert version_name("kb", 3) == "kb-v3"
    assert next_name("kb", "kb-v9") == "kb-v10"
    assert version_number("kb", "kb-v10") == 10
    assert [version_number("kb", name) for name in ("kb", "kb-v0", "kb-vx", "other-v1")] == [
        None
    ] * 4


@pytest.mark.parametrize("aliases", [True, False])
async def test_readers_see_the_former_version_until_the_new_one_is_whole(
    service: SearchService, *, aliases: bool
) -> None:
    service.aliases.supported = aliases
    async with (
        opened(service) as writer,
        opened(service, create=False, opening=AT_ONCE, key=service.access.query_key) as reader,
    ):
        await put(writer, VPN)
        async with rebuilding(service) as rebuild:
            await put(rebuild.index, LEAVE)
            assert page_ids(await ask(reader, "VPN or leave")) == ["vpn"]

            assert await rebuild.finish() == f"{NAME}-v2"

            assert page_ids(await ask(reader, "VPN or leave")) == ["leave"]


async def test_an_index_of_another_embedder_is_rebuilt_for_the_new_one(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    async with rebuilding(service, Wider()) as rebuild:
        vectors = await Wider().embed([chunk.text for chunk in VPN.chunks])
        await rebuild.index.upsert_page(VPN.page, VPN.chunks, vectors)
        await rebuild.finish()

    async with opened(service, Wider()) as later:
        assert await later.fingerprint() == expected_of(Wider())
    with pytest.raises(IndexMismatch):
        async with opened(service):
            pass


async def test_a_server_that_runs_on_learns_that_its_embedder_does_not_fit_any_more(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    async with opened(service, create=False, opening=AT_ONCE) as reader:
        async with rebuilding(service, Wider()) as rebuild:
            vectors = await Wider().embed([chunk.text for chunk in VPN.chunks])
            await rebuild.index.upsert_page(VPN.page, VPN.chunks, vectors)
            await rebuild.finish()

        with pytest.raises(IndexMismatch, match=r"'words@wide'.*'words@1'"):
            await ask(reader, "VPN")


async def test_a_rebuild_that_was_killed_is_gone_on_with(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    async with rebuilding(service) as killed:
        await put(killed.index, VPN)

    async with rebuilding(service) as rebuild:
        assert set(await rebuild.index.pages("acme", "it")) == {"vpn"}
    async with rebuilding(service, Wider()) as other:
        assert await other.index.pages("acme", "it") == {}


async def test_a_version_without_pages_does_not_take_the_place_of_one_that_has_some(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    async with rebuilding(service) as rebuild:
        with pytest.raises(IndexUnavailable, match="holds no pages"):
            await rebuild.finish()

    assert page_ids(await ask(index, "VPN")) == ["vpn"]


async def test_a_version_that_lacks_chunks_does_not_take_the_place(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    async with rebuilding(service) as rebuild:
        await put(rebuild.index, VPN)
        service.indexes.held_back = True
        await put(rebuild.index, LEAVE)
        service.faults.fail_items(400, keys={"none"})
        await rebuild.index.delete_pages("acme", "it", [])
        service.indexes.held_back = False
        lost = f"{NAME}-v2"
        service.indexes.get(lost).corpus.put(VPN.chunks[0].id, None)
        with pytest.raises(IndexUnavailable, match="holds 1 chunks, but its pages have 2"):
            await rebuild.finish(seen_within_seconds=0.0)


async def test_there_is_nothing_to_rebuild_before_the_first_ingestion(
    service: SearchService,
) -> None:
    with pytest.raises(IndexAbsent):
        async with rebuilding(service):
            pass


async def test_a_reader_goes_to_the_new_version_at_once_when_the_former_is_gone(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    async with opened(service, create=False) as reader:
        assert page_ids(await ask(reader, "VPN")) == ["vpn"]
        async with rebuilding(service) as rebuild:
            await put(rebuild.index, LEAVE)
            await rebuild.finish()
        service.indexes.delete(f"{NAME}-v1", {})

        assert page_ids(await ask(reader, "VPN or leave")) == ["leave"]


async def test_a_former_version_is_deleted_when_nobody_reads_it_any_more(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    async with rebuilding(service) as rebuild:
        await put(rebuild.index, VPN)
        await rebuild.finish()
    async with opened(service):
        assert service.documents(f"{NAME}-v1")

    _let_minutes_pass(service)
    async with opened(service) as later:
        assert page_ids(await ask(later, "VPN")) == ["vpn"]
    with pytest.raises(Exception, match=f"{NAME}-v1"):
        service.documents(f"{NAME}-v1")


def _let_minutes_pass(service: SearchService) -> None:
    """Date the swap back in the facts of the index, where nothing else knows of it."""
    index = service.indexes.get(f"{NAME}-v2")
    facts = dict(index.written["facts="])
    facts["version"] = str(facts["version"]).replace('"since": "2', '"since": "1')
    index.written["facts="] = facts
    index.corpus.put("facts=", facts)

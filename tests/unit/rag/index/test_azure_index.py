"""Who may open the index, what is found there, and how a new version takes its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from pydantic import SecretStr

from rag.errors import IndexMismatch, IndexUnavailable
from rag.index.azure.connection import IndexAbsent, credential_of
from rag.index.azure.index import AzureIndex, Rebuild, open_azure_index, open_azure_rebuild
from rag.index.azure.schema import SCHEMA, index_definition
from rag.index.azure.versions import next_name, version_name, version_number
from rag.ports import Embedder
from rag.types import Fingerprint
from tests.fakes.azure_index import (
    INDEX_NAME,
    QUICK_OPENING,
    expected_of,
    open_test_index,
    settings_of,
)
from tests.fakes.passages import EMBEDDER, ask, draft, page_ids, put
from tests.fakes.rag_ports import WordEmbedder
from tests.fakes.search_service.service import SearchService

VPN = draft("vpn", "VPN needs a token.")
IN_THE_ISSUE = {
    "content", "embedding", "page_id", "page_title", "section_title", "url", "source_type"
}  # fmt: skip


def test_the_index_has_the_fields_that_were_asked_for() -> None:
    index = index_definition("kb", dimensions=64, quantization="none")

    fields = {field.name: field for field in index.fields}
    assert fields.keys() >= IN_THE_ISSUE
    assert fields["embedding"].type == "Collection(Edm.Single)"
    assert fields["embedding"].stored is not False
    assert all(fields[f"readers_{number}"].retrievable is False for number in range(1, 6))


@pytest.mark.parametrize("quantization", ["none", "scalar", "binary"])
async def test_every_quantisation_is_taken(service: SearchService, quantization: str) -> None:
    async with open_test_index(service, azure_search_quantization=quantization) as index:
        await put(index, VPN)

        assert (await ask(index, "VPN"))[0].signals["vector"] > 0


async def test_whoever_only_reads_asks_for_documents_and_nothing_else(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    before = len(service.requests)

    async with open_test_index(service, create=False, key=service.access.query_key) as reader:
        assert page_ids(await ask(reader, "VPN")) == ["vpn"]
        assert await reader.spaces("acme") == {"it": 1}

    assert {request.kind for request in service.requests[before:]} == {"search"}


async def test_whoever_opened_it_to_read_does_not_write(
    service: SearchService, index: AzureIndex
) -> None:
    async with open_test_index(service, create=False) as reader:
        with pytest.raises(IndexUnavailable, match="read only"):
            await put(reader, VPN)


async def test_there_is_nothing_to_read_before_the_first_ingestion(service: SearchService) -> None:
    with pytest.raises(IndexAbsent, match="run the ingestion"):
        async with open_test_index(service, create=False):
            pass


@pytest.mark.parametrize(
    ("key", "cure"), [("wrong", "Search Index Data Reader"), ("query-key", "query key")]
)
async def test_a_key_that_may_not_names_the_setting_and_not_the_key(
    service: SearchService, key: str, cure: str
) -> None:
    with pytest.raises(IndexUnavailable, match=f"403.*{cure}") as refused:
        async with open_test_index(service, key=key):
            pass
    assert key not in str(refused.value).replace("query key", "")


async def test_an_index_that_something_else_made_is_left_alone(service: SearchService) -> None:
    async with open_test_index(service, azure_search_index="theirs"):
        pass
    service.aliases.delete("theirs")
    service.indexes.put("theirs", {"name": "theirs", "fields": [KEY]}, {})

    with pytest.raises(IndexMismatch, match=r"'theirs'.*another name"):
        async with open_test_index(service, azure_search_index="theirs"):
            pass


KEY = {"name": "id", "type": "Edm.String", "key": True}


async def test_a_field_that_is_new_is_added_when_somebody_opens_it_to_write(
    service: SearchService,
) -> None:
    async with open_test_index(service, None) as bare:
        await put(bare, VPN, vectors=False)
    async with open_test_index(service) as later:
        await put(later, draft("leave", "Annual leave"))

        assert (await ask(later, "leave"))[0].signals["vector"] > 0


async def test_an_embedder_that_does_not_fit_is_refused_at_the_start_with_the_cure(
    service: SearchService, index: AzureIndex
) -> None:
    class Wider(WordEmbedder):
        name = "words@wide"
        dimensions = 128

    await put(index, VPN)

    for create in (True, False):
        with pytest.raises(IndexMismatch, match="python -m ingestion rebuild"):
            async with open_test_index(service, Wider(), create=create):
                pass


async def test_a_schema_of_another_program_is_refused(service: SearchService) -> None:
    expected = Fingerprint("words@1", 64, SCHEMA + 1)

    with pytest.raises(IndexMismatch, match=f"Schema {SCHEMA + 1}"):
        await open_azure_index(settings_of(service), expected, create=True, opening=QUICK_OPENING)


async def test_a_service_that_is_not_there_is_said(service: SearchService) -> None:
    settings = settings_of(service, azure_search_endpoint="http://localhost:9")

    with pytest.raises(IndexUnavailable, match="cannot be reached; check AZURE_SEARCH_ENDPOINT"):
        await open_azure_index(settings, None, create=False, opening=QUICK_OPENING)


async def test_a_service_that_hangs_is_given_up_at_the_deadline(
    service: SearchService, index: AzureIndex
) -> None:
    async with open_test_index(service, azure_search_timeout_seconds=0.2) as hasty:
        service.faults.hang("search", times=9)
        with pytest.raises(IndexUnavailable, match="AZURE_SEARCH_TIMEOUT_SECONDS"):
            await ask(hasty, "VPN")
        service.faults.clear()


async def test_one_try_that_hangs_leaves_time_for_another(service: SearchService) -> None:
    async with open_test_index(service, azure_search_timeout_seconds=4.0) as index:
        await put(index, VPN)
        service.faults.hang("search")

        assert page_ids(await ask(index, "VPN")) == ["vpn"]


async def test_what_was_closed_says_so(service: SearchService) -> None:
    async with open_test_index(service) as index:
        pass

    with pytest.raises(IndexUnavailable, match="closed"):
        await ask(index, "VPN")


def test_a_token_is_not_sent_where_anybody_can_read_it() -> None:
    with pytest.raises(IndexUnavailable, match="needs https://"):
        credential_of("http://localhost:8080", None)


async def test_a_key_that_is_set_is_what_is_used() -> None:
    credential = credential_of("http://localhost:8080", SecretStr("k"))

    assert getattr(credential, "key", None) == "k"


async def test_what_can_not_be_seen_yet_is_not_written_anew(service: SearchService) -> None:
    """Two open a new index at once; the first has claimed it for its embedder."""
    service.indexes.visible_after = 0.3
    async with open_test_index(service) as first:
        await put(first, VPN)
        async with open_test_index(service) as second:
            await put(second, draft("leave", "Annual leave"))

    (facts,) = (one for one in service.documents(INDEX_NAME).values() if one["kind"] == "facts")
    assert '"embedder": "words@1"' in str(facts["version"])
    kinds = Counter(str(one["kind"]) for one in service.documents(INDEX_NAME).values())
    assert kinds == {"facts": 1, "page": 2, "chunk": 2, "revision": 1}


async def test_an_address_with_a_slash_at_its_end_is_the_same(service: SearchService) -> None:
    async with open_test_index(service, azure_search_endpoint=f"{service.url}/") as index:
        await put(index, VPN)

        assert page_ids(await ask(index, "VPN")) == ["vpn"]


async def test_what_is_known_of_the_index_outlives_a_moment_of_trouble(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    always = replace(QUICK_OPENING, refresh_seconds=0.0)
    async with open_test_index(service, create=False, opening=always) as reader:
        service.faults.refuse("search", 503, times=4)

        assert page_ids(await ask(reader, "VPN")) == ["vpn"]


LEAVE = draft("leave", "Annual leave is requested in the portal.")
AT_ONCE = replace(QUICK_OPENING, refresh_seconds=0.0)


class Wider(WordEmbedder):
    name = "words@wide"
    dimensions = 128


@asynccontextmanager
async def rebuilding(
    service: SearchService, embedder: Embedder = EMBEDDER
) -> AsyncIterator[Rebuild]:
    rebuild = await open_azure_rebuild(
        settings_of(service), expected_of(embedder), opening=QUICK_OPENING
    )
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
        open_test_index(service) as writer,
        open_test_index(
            service, create=False, opening=AT_ONCE, key=service.access.query_key
        ) as reader,
    ):
        await put(writer, VPN)
        async with rebuilding(service) as rebuild:
            await put(rebuild.index, LEAVE)
            assert page_ids(await ask(reader, "VPN or leave")) == ["vpn"]

            assert await rebuild.finish() == f"{INDEX_NAME}-v2"

            assert page_ids(await ask(reader, "VPN or leave")) == ["leave"]


async def test_an_index_of_another_embedder_is_rebuilt_for_the_new_one(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    async with rebuilding(service, Wider()) as rebuild:
        vectors = await Wider().embed([chunk.text for chunk in VPN.chunks])
        await rebuild.index.upsert_page(VPN.page, VPN.chunks, vectors)
        await rebuild.finish()

    async with open_test_index(service, Wider()) as later:
        assert await later.fingerprint() == expected_of(Wider())
    with pytest.raises(IndexMismatch):
        async with open_test_index(service):
            pass


async def test_a_server_that_runs_on_learns_that_its_embedder_does_not_fit_any_more(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    async with open_test_index(service, create=False, opening=AT_ONCE) as reader:
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
        lost = f"{INDEX_NAME}-v2"
        service.indexes.get(lost).corpus.put(VPN.chunks[0].id, None)
        with pytest.raises(IndexUnavailable, match="holds 1 chunks, but its pages have 2"):
            await rebuild.finish(visible_within_seconds=0.0)


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
    async with open_test_index(service, create=False) as reader:
        assert page_ids(await ask(reader, "VPN")) == ["vpn"]
        async with rebuilding(service) as rebuild:
            await put(rebuild.index, LEAVE)
            await rebuild.finish()
        service.indexes.delete(f"{INDEX_NAME}-v1", {})

        assert page_ids(await ask(reader, "VPN or leave")) == ["leave"]


async def test_a_former_version_is_deleted_when_nobody_reads_it_any_more(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    async with rebuilding(service) as rebuild:
        await put(rebuild.index, VPN)
        await rebuild.finish()
    async with open_test_index(service):
        assert service.documents(f"{INDEX_NAME}-v1")

    _let_minutes_pass(service)
    async with open_test_index(service) as later:
        assert page_ids(await ask(later, "VPN")) == ["vpn"]
    with pytest.raises(Exception, match=f"{INDEX_NAME}-v1"):
        service.documents(f"{INDEX_NAME}-v1")


def _let_minutes_pass(service: SearchService) -> None:
    """Date the swap back in the facts of the index, where nothing else knows of it."""
    index = service.indexes.get(f"{INDEX_NAME}-v2")
    facts = dict(index.written["facts="])
    facts["version"] = str(facts["version"]).replace('"since": "2', '"since": "1')
    index.written["facts="] = facts
    index.corpus.put("facts=", facts)

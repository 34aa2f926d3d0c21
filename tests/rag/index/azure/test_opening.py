"""Who may open the index, what is found there, and what is said when it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import SecretStr

from rag.errors import IndexMismatch, IndexUnavailable
from rag.index.azure.connection import IndexAbsent, credential_of
from rag.index.azure.index import AzureIndex, open_azure_index
from rag.index.azure.schema import SCHEMA, index_definition
from rag.types import Fingerprint
from tests.contract.pages import ask, draft, page_ids, put
from tests.fakes import WordEmbedder
from tests.rag.index.azure.opened import NAME, QUICK, opened, settings_of
from tests.search_service.service import SearchService

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
    async with opened(service, azure_search_quantization=quantization) as index:
        await put(index, VPN)

        assert (await ask(index, "VPN"))[0].signals["vector"] > 0


async def test_whoever_only_reads_asks_for_documents_and_nothing_else(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    before = len(service.requests)

    async with opened(service, create=False, key=service.access.query_key) as reader:
        assert page_ids(await ask(reader, "VPN")) == ["vpn"]
        assert await reader.spaces("acme") == {"it": 1}

    assert {request.kind for request in service.requests[before:]} == {"search"}


async def test_whoever_opened_it_to_read_does_not_write(
    service: SearchService, index: AzureIndex
) -> None:
    async with opened(service, create=False) as reader:
        with pytest.raises(IndexUnavailable, match="read only"):
            await put(reader, VPN)


async def test_there_is_nothing_to_read_before_the_first_ingestion(service: SearchService) -> None:
    with pytest.raises(IndexAbsent, match="run the ingestion"):
        async with opened(service, create=False):
            pass


@pytest.mark.parametrize(
    ("key", "cure"), [("wrong", "Search Index Data Reader"), ("query-key", "query key")]
)
async def test_a_key_that_may_not_names_the_setting_and_not_the_key(
    service: SearchService, key: str, cure: str
) -> None:
    with pytest.raises(IndexUnavailable, match=f"403.*{cure}") as refused:
        async with opened(service, key=key):
            pass
    assert key not in str(refused.value).replace("query key", "")


async def test_an_index_that_something_else_made_is_left_alone(service: SearchService) -> None:
    async with opened(service, azure_search_index="theirs"):
        pass
    service.aliases.delete("theirs")
    service.indexes.put("theirs", {"name": "theirs", "fields": [KEY]}, {})

    with pytest.raises(IndexMismatch, match=r"'theirs'.*another name"):
        async with opened(service, azure_search_index="theirs"):
            pass


KEY = {"name": "id", "type": "Edm.String", "key": True}


async def test_a_field_that_is_new_is_added_when_somebody_opens_it_to_write(
    service: SearchService,
) -> None:
    async with opened(service, None) as bare:
        await put(bare, VPN, vectors=False)
    async with opened(service) as later:
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
            async with opened(service, Wider(), create=create):
                pass


async def test_a_schema_of_another_program_is_refused(service: SearchService) -> None:
    expected = Fingerprint("words@1", 64, SCHEMA + 1)

    with pytest.raises(IndexMismatch, match=f"Schema {SCHEMA + 1}"):
        await open_azure_index(settings_of(service), expected, create=True, opening=QUICK)


async def test_a_service_that_is_not_there_is_said(service: SearchService) -> None:
    settings = settings_of(service, azure_search_endpoint="http://localhost:9")

    with pytest.raises(IndexUnavailable, match="cannot be reached; check AZURE_SEARCH_ENDPOINT"):
        await open_azure_index(settings, None, create=False, opening=QUICK)


async def test_a_service_that_hangs_is_given_up_at_the_deadline(
    service: SearchService, index: AzureIndex
) -> None:
    async with opened(service, azure_search_timeout_seconds=0.2) as hasty:
        service.faults.hang("search", times=9)
        with pytest.raises(IndexUnavailable, match="AZURE_SEARCH_TIMEOUT_SECONDS"):
            await ask(hasty, "VPN")
        service.faults.clear()


async def test_one_try_that_hangs_leaves_time_for_another(service: SearchService) -> None:
    async with opened(service, azure_search_timeout_seconds=2.0) as index:
        await put(index, VPN)
        service.faults.hang("search")

        assert page_ids(await ask(index, "VPN")) == ["vpn"]


async def test_what_was_closed_says_so(service: SearchService) -> None:
    async with opened(service) as index:
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
    async with opened(service) as first:
        await put(first, VPN)
        async with opened(service) as second:
            await put(second, draft("leave", "Annual leave"))

    (facts,) = (one for one in service.documents(NAME).values() if one["kind"] == "facts")
    assert '"embedder": "words@1"' in str(facts["version"])
    assert len(service.documents(NAME)) == 5


async def test_an_address_with_a_slash_at_its_end_is_the_same(service: SearchService) -> None:
    async with opened(service, azure_search_endpoint=f"{service.url}/") as index:
        await put(index, VPN)

        assert page_ids(await ask(index, "VPN")) == ["vpn"]


async def test_what_is_known_of_the_index_outlives_a_moment_of_trouble(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN)
    always = replace(QUICK, asked_every_seconds=0.0)
    async with opened(service, create=False, opening=always) as reader:
        service.faults.refuse("search", 503, times=4)

        assert page_ids(await ask(reader, "VPN")) == ["vpn"]

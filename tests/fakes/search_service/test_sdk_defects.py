"""What the vendor's client 12.0.0 does wrong: the reasons for our own batcher and our own retries.

Each of these fails once the client is mended, and then tells what of ours may go.
"""

from __future__ import annotations

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.search.documents.aio import SearchClient, SearchIndexingBufferedSender
from azure.search.documents.models import QueryCaptionType

from tests.fakes.search_service.conftest import page
from tests.fakes.search_service.search import Partial
from tests.fakes.search_service.service import SearchService

PAGES = [page(str(number)) for number in range(5)]


async def test_the_buffered_sender_loses_documents_without_a_word(
    client: SearchClient, service: SearchService
) -> None:
    told: list[object] = []

    async def on_error(action: object) -> None:
        told.append(action)

    key = AzureKeyCredential(service.access.admin_key)
    sender = SearchIndexingBufferedSender(
        service.url, "kb", key, auto_flush=False, on_error=on_error
    )
    service.faults.refuse("index", 400)
    async with sender:
        await sender.upload_documents(PAGES)
        await sender.flush()

    assert set(service.documents("kb")) == {"0"}
    assert told == []


async def test_a_batch_that_is_too_large_is_half_indexed_and_ends_in_a_type_error(
    client: SearchClient, service: SearchService
) -> None:
    service.faults.largest_body = 200

    with pytest.raises(TypeError, match="batch"):
        await client.upload_documents(PAGES[:4])

    assert set(service.documents("kb")) == {"0", "1"}


@pytest.mark.parametrize("kind", ["search", "index"])
async def test_too_many_requests_without_a_time_are_not_tried_again(
    client: SearchClient, service: SearchService, kind: str
) -> None:
    service.faults.refuse(kind, 429)

    call = _first(client) if kind == "search" else client.upload_documents(PAGES)
    with pytest.raises(HttpResponseError) as refused:
        await call

    assert refused.value.status_code == 429
    assert service.count(kind) == 1


async def _first(client: SearchClient) -> object:
    async for each in await client.search("*"):
        return each
    return None


async def test_too_many_requests_with_a_time_are_tried_again(
    client: SearchClient, service: SearchService
) -> None:
    service.faults.refuse("search", 429, retry_after="0")

    await _first(client)

    assert service.count("search") == 2


async def test_enumerations_are_sent_as_python_calls_them(
    client: SearchClient, service: SearchService
) -> None:
    found = await client.search(
        "vpn",
        query_type="semantic",
        semantic_configuration_name="sem",
        query_caption=QueryCaptionType.EXTRACTIVE,
    )

    with pytest.raises(HttpResponseError, match="captions"):
        _ = [each async for each in found]
    assert service.requests[-1].body["captions"] == "QueryCaptionType.EXTRACTIVE"


async def test_a_threshold_of_answers_without_their_count_is_sent_wrongly(
    client: SearchClient, service: SearchService
) -> None:
    found = await client.search(
        "vpn",
        query_type="semantic",
        semantic_configuration_name="sem",
        query_answer="extractive",
        query_answer_threshold=0.7,
    )

    with pytest.raises(HttpResponseError):
        _ = [each async for each in found]
    assert service.requests[-1].body["answers"] == "extractive,threshold-0.7"


async def test_asking_for_the_count_first_searches_twice(
    client: SearchClient, service: SearchService
) -> None:
    found = await client.search("*", include_total_count=True)
    await found.get_count()
    _ = [each async for each in found]

    assert service.count("search") == 2


async def test_a_partial_answer_is_not_told_but_by_its_missing_scores(
    client: SearchClient, service: SearchService
) -> None:
    await client.upload_documents(PAGES[:1])
    service.faults.degrade(Partial("capacityOverloaded"))

    found = await client.search(
        "*", query_type="semantic", semantic_configuration_name="sem", semantic_error_mode="partial"
    )
    (document,) = [each async for each in found]

    assert service.requests[-1].status == 206
    assert document["@search.reranker_score"] is None

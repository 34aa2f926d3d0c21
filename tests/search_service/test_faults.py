"""What goes wrong when it is told to, and only then."""

from __future__ import annotations

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError, ServiceRequestError, ServiceResponseError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import SearchAlias

from tests.search_service.example import index_of, page
from tests.search_service.service import SearchService


async def test_calls_are_refused_as_often_as_told(
    client: SearchClient, service: SearchService
) -> None:
    service.faults.refuse("count", 404, times=2)

    for _ in range(2):
        with pytest.raises(HttpResponseError):
            await client.get_document_count()

    assert await client.get_document_count() == 0
    assert [r.status for r in service.requests if r.kind == "count"] == [404, 404, 200]


async def test_items_fail_within_their_batch(client: SearchClient, service: SearchService) -> None:
    service.faults.fail_items(503, keys=["b"])

    first = await client.upload_documents([page("a"), page("b")])
    again = await client.upload_documents([page("b")])

    assert [result.status_code for result in (*first, *again)] == [201, 503, 201]
    assert [r.status for r in service.requests if r.kind == "index"] == [207, 200]


@pytest.mark.parametrize(("when", "written"), [("before", set[str]()), ("after", {"a"})])
async def test_a_cut_connection_does_not_tell_what_was_done(
    client: SearchClient, service: SearchService, when: str, written: set[str]
) -> None:
    service.faults.cut("index", "after" if when == "after" else "before", times=9)

    with pytest.raises((ServiceResponseError, ServiceRequestError)):
        await client.upload_documents([page("a")], retry_total=0)

    assert set(service.documents("kb")) == written


async def test_a_call_that_hangs_ends_with_the_patience_of_who_calls(
    client: SearchClient, service: SearchService
) -> None:
    service.faults.hang("count")

    with pytest.raises(ServiceResponseError):
        await client.get_document_count(read_timeout=0.05, retry_total=0)


async def test_what_was_written_is_found_later(
    client: SearchClient, service: SearchService
) -> None:
    service.indexes.held_back = True
    await client.upload_documents([page("a")])
    await client.merge_documents([{"id": "a", "version": 2}])
    assert await client.get_document_count() == 0
    assert set(service.documents("kb")) == {"a"}

    service.indexes.held_back = False

    assert (await client.get_document("a"))["version"] == 2


async def test_each_write_is_found_after_its_time() -> None:
    clock = [0.0]
    async with SearchService(now=lambda: clock[0]).serving() as service:
        key = AzureKeyCredential(service.access.admin_key)
        service.indexes.visible_after = 5.0
        async with (
            SearchIndexClient(service.url, key) as admin,
            SearchClient(service.url, "kb", key) as client,
        ):
            await admin.create_index(index_of("kb"))
            counts = []
            for at, key_now in ((0.0, "a"), (3.0, "b"), (5.0, None), (8.0, None)):
                clock[0] = at
                if key_now:
                    await client.upload_documents([page(key_now)])
                counts.append(await client.get_document_count())

    assert counts == [0, 0, 1, 2]


async def test_a_swapped_alias_leads_where_it_led_until_that_is_known(
    client: SearchClient, admin: SearchIndexClient, service: SearchService
) -> None:
    await admin.create_index(index_of("kb-v2"))
    await client.upload_documents([page("old")])
    await admin.create_alias(SearchAlias(name="live", indexes=["kb"]))
    async with SearchClient(service.url, "live", AzureKeyCredential("admin-key")) as live:
        assert await live.get_document_count() == 1
        service.aliases.held = True
        await admin.create_or_update_alias(SearchAlias(name="live", indexes=["kb-v2"]))
        assert await live.get_document_count() == 1

        service.aliases.held = False

        assert await live.get_document_count() == 0


async def test_there_are_so_many_indexes_and_no_more(
    admin: SearchIndexClient, service: SearchService
) -> None:
    service.indexes.most = 1
    await admin.create_index(index_of("one"))

    with pytest.raises(HttpResponseError, match="quota") as refused:
        await admin.create_index(index_of("two"))

    assert refused.value.status_code == 429


@pytest.mark.parametrize("status", [400, 404])
async def test_a_service_may_have_no_aliases(
    admin: SearchIndexClient, service: SearchService, status: int
) -> None:
    service.aliases.supported, service.aliases.refusal = False, status

    with pytest.raises(HttpResponseError) as refused:
        await admin.get_alias("live")

    assert refused.value.status_code == status

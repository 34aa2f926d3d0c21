"""The vendor's client at the fake service: calls, rights, and faults on demand."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Self

import pytest
from azure.core.credentials import AccessToken, AzureKeyCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceNotFoundError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import AnalyzeTextOptions, SearchAlias
from azure.search.documents.models import IndexDocumentsBatch, VectorizedQuery

from tests.fakes.search_service.conftest import fields, index_of, page, plain
from tests.fakes.search_service.operations import Role
from tests.fakes.search_service.service import Certificate, SearchService, make_certificate

NEAR, FAR, OPPOSITE = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]


async def ids(client: SearchClient, text: str | None = "*", **wishes: object) -> list[str]:
    found = await client.search(text, **wishes)  # type: ignore[arg-type]  # as the test says
    return [document["id"] async for document in found]


async def test_an_index_is_created_described_listed_and_deleted(
    admin: SearchIndexClient, service: SearchService
) -> None:
    created = await admin.create_or_update_index(index_of("kb"))
    again = await admin.create_or_update_index(index_of("kb"))
    described = await admin.get_index("kb")

    assert [request.status for request in service.requests] == [201, 200, 200]
    assert created.e_tag != again.e_tag == described.e_tag
    assert [field.name for field in described.fields] == [field.name for field in fields()]
    assert [name async for name in admin.list_index_names()] == ["kb"]
    await admin.delete_index("kb")
    with pytest.raises(ResourceNotFoundError):
        await admin.get_index("kb")


async def test_documents_are_uploaded_merged_looked_up_counted_and_deleted(
    client: SearchClient, admin: SearchIndexClient, service: SearchService
) -> None:
    first = await client.upload_documents([page("a", "one", version=1), page("b")])
    merged = await client.merge_documents([{"id": "a", "version": 2}])

    assert [result.status_code for result in (*first, *merged)] == [201, 201, 200]
    assert await client.get_document("a", selected_fields=["content", "version"]) == {
        "content": "one", "version": 2,
    }  # fmt: skip
    assert await client.get_document_count() == 2
    assert (await admin.get_index_statistics("kb"))["documentCount"] == 2
    gone = await client.delete_documents([{"id": "b"}, {"id": "never"}])
    assert [result.status_code for result in gone] == [200, 200]
    assert set(service.documents("kb")) == {"a"}
    with pytest.raises(ResourceNotFoundError):
        await client.get_document("b")


async def test_hybrid_search_fuses_ranks_and_tells_its_parts(client: SearchClient) -> None:
    await client.upload_documents(
        [
            page("both", "reset the vpn token", embedding=NEAR, readers=["everyone"]),
            page("near", "something else", embedding=NEAR, readers=["everyone"]),
            page("kept", "vpn token vpn token", embedding=NEAR, readers=["group:it"]),
            page("far", "nothing", embedding=OPPOSITE, readers=["everyone"]),
        ]
    )
    query = VectorizedQuery(vector=NEAR, k_nearest_neighbors=2, fields="embedding")

    found = await client.search(
        "vpn tokens",
        vector_queries=[query],
        filter="readers/any(r: search.in(r, 'user:ann|everyone', '|'))",
        select=["id"],
        debug="vector",
    )
    documents = [document async for document in found]

    assert [document["id"] for document in documents] == ["both", "near"]
    assert documents[0]["@search.score"] == pytest.approx(2 / 60)
    assert documents[1]["@search.score"] == pytest.approx(1 / 61)
    scores = documents[0]["@search.document_debug_info"].vectors.subscores
    assert scores.text.search_score > 0
    assert scores.vectors[0]["embedding"].vector_similarity == 1


async def test_vectors_alone_score_between_a_third_and_one(client: SearchClient) -> None:
    await client.upload_documents(
        [page("n", embedding=NEAR), page("f", embedding=FAR), page("o", embedding=OPPOSITE)]
    )
    query = VectorizedQuery(vector=NEAR, k_nearest_neighbors=10, fields="embedding")

    found = await client.search(None, vector_queries=[query])

    scores = {document["id"]: document["@search.score"] async for document in found}
    assert scores == {"n": 1.0, "f": 0.5, "o": pytest.approx(1 / 3)}


async def test_hidden_fields_are_never_shown(client: SearchClient) -> None:
    await client.upload_documents([page("a", embedding=NEAR, readers=["everyone"])])

    (document,) = [each async for each in await client.search("*")]

    assert not {"readers", "embedding"} & set(document)
    assert "readers" not in await client.get_document("a")
    with pytest.raises(HttpResponseError, match="retrievable"):
        await ids(client, select=["id", "readers"])


async def test_results_are_ordered_counted_faceted_and_paged(client: SearchClient) -> None:
    await client.upload_documents(
        [page(f"p{n:03}", version=n % 7, space="it" if n % 3 else "hr") for n in range(120)]
    )

    found = await client.search(
        "*", include_total_count=True, facets=["space"], order_by=["version desc", "id"], top=2
    )

    assert [document["id"] async for document in found] == ["p006", "p013"]
    assert await found.get_count() == 120
    assert (await found.get_facets() or {})["space"][0] == {"value": "it", "count": 80}
    assert len(await ids(client)) == 120, "without a top the client goes on page by page"
    assert await ids(client, order_by=["id"], skip=118) == ["p118", "p119"]


async def test_an_alias_leads_to_one_index_and_can_be_swapped(
    client: SearchClient, admin: SearchIndexClient, service: SearchService
) -> None:
    await admin.create_or_update_index(index_of("kb-v2"))
    await client.upload_documents([page("old")])
    async with SearchClient(service.url, "live", client._config.credential) as live:  # noqa: SLF001
        await admin.create_or_update_alias(SearchAlias(name="live", indexes=["kb"]))
        assert await ids(live) == ["old"]
        await admin.create_or_update_alias(SearchAlias(name="live", indexes=["kb-v2"]))
        assert await ids(live) == []
        await live.upload_documents([page("new")])

    assert set(service.documents("kb-v2")) == {"new"}
    assert (await admin.get_alias("live")).indexes == ["kb-v2"]
    assert [alias.name async for alias in admin.list_aliases()] == ["live"]
    with pytest.raises(HttpResponseError, match="alias"):
        await admin.delete_index("kb-v2")
    await admin.delete_alias("live")
    await admin.delete_index("kb-v2")


async def test_a_batch_tells_of_each_action(client: SearchClient) -> None:
    batch = IndexDocumentsBatch()
    batch.add_upload_actions([page("a")])
    batch.add_merge_actions([{"id": "missing", "version": 1}])
    batch.add_merge_or_upload_actions([page("b")])

    results = await client.index_documents(batch)

    assert [(r.key, r.succeeded, r.status_code) for r in results] == [
        ("a", True, 201), ("missing", False, 404), ("b", True, 201),
    ]  # fmt: skip


async def test_semantic_search_orders_once_more_and_quotes(client: SearchClient) -> None:
    await client.upload_documents(
        [
            page("much", "vpn vpn vpn vpn."),
            page("right", "Call IT. Reset the vpn token in the portal."),
        ]
    )

    found = await client.search(
        "reset vpn token",
        query_type="semantic",
        semantic_configuration_name="sem",
        query_caption="extractive|highlight-false",
        query_answer="extractive",
        query_answer_count=1,
        query_answer_threshold=0.7,
    )
    first, second = [document async for document in found]

    assert first["id"] == "right"
    assert first["@search.reranker_score"] == 4 > second["@search.reranker_score"]
    assert first["@search.captions"][0].text == "Reset the vpn token in the portal."
    assert [answer.key for answer in await found.get_answers() or []] == ["right"]


async def test_a_field_can_be_added_and_none_changed(
    client: SearchClient, admin: SearchIndexClient
) -> None:
    await client.upload_documents([page("a")])
    wider, other = index_of("kb"), index_of("kb")
    wider.fields.append(plain("owner", filterable=True))
    other.fields[3] = plain("space", searchable=True)

    await admin.create_or_update_index(wider)

    assert await ids(client, filter="owner eq null") == ["a"]
    with pytest.raises(HttpResponseError, match="cannot be"):
        await admin.create_or_update_index(other)


async def test_text_is_analyzed_as_the_field_would(
    client: SearchClient, admin: SearchIndexClient
) -> None:
    result = await admin.analyze_text(
        "kb", AnalyzeTextOptions(text="The Tokens of VPN-809", analyzer_name="en.lucene")
    )

    assert [token.token for token in result.tokens] == ["token", "vpn", "809"]


READER: Role = "Search Index Data Reader"
WRITER: Role = "Search Index Data Contributor"
DEFINER: Role = "Search Service Contributor"


class Token:
    """A credential that always has this token."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_token(self, *scopes: str, **_: object) -> AccessToken:
        assert scopes == ("https://search.azure.com/.default",)
        return AccessToken(self._token, int(time.time()) + 3600)

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return make_certificate(tmp_path)


@pytest.fixture
async def secure(certificate: Certificate) -> AsyncIterator[SearchService]:
    async with SearchService(tls=certificate.server).serving() as running:
        yield running


async def _status(call: Callable[[], Awaitable[object]]) -> int:
    try:
        await call()
    except HttpResponseError as error:
        return error.status_code or 0
    return 200


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ([], (403, 403, 403)),
        ([READER], (200, 403, 403)),
        ([WRITER], (200, 200, 403)),
        ([DEFINER], (403, 403, 200)),
        ([WRITER, DEFINER], (200, 200, 200)),
    ],
)
async def test_a_role_gives_its_rights_and_no_others(
    secure: SearchService, certificate: Certificate, roles: list[Role], expected: tuple[int, ...]
) -> None:
    verify = str(certificate.authority)
    secure.access.grant("token", *roles)
    key = AzureKeyCredential(secure.access.admin_key)
    async with SearchIndexClient(secure.url, key, connection_verify=verify) as admin:
        await admin.create_index(index_of("kb"))

    async with (
        SearchClient(secure.url, "kb", Token("token"), connection_verify=verify) as client,
        SearchIndexClient(secure.url, Token("token"), connection_verify=verify) as admin,
    ):
        statuses = (
            await _status(client.get_document_count),
            await _status(lambda: client.upload_documents([page("a")])),
            await _status(lambda: admin.get_index("kb")),
        )

    assert statuses == expected


async def test_an_unknown_token_is_nobody(secure: SearchService, certificate: Certificate) -> None:
    verify = str(certificate.authority)
    async with SearchClient(secure.url, "kb", Token("x"), connection_verify=verify) as client:
        with pytest.raises(ClientAuthenticationError) as refused:
            await client.get_document_count()

    assert refused.value.status_code == 401


async def test_a_query_key_only_reads(client: SearchClient, service: SearchService) -> None:
    key = AzureKeyCredential(service.access.query_key)
    async with (
        SearchClient(service.url, "kb", key) as reader,
        SearchIndexClient(service.url, key) as definer,
    ):
        assert await reader.get_document_count() == 0
        assert await _status(lambda: reader.upload_documents([page("a")])) == 403
        assert await _status(lambda: definer.get_index("kb")) == 403


async def test_a_wrong_key_is_forbidden(service: SearchService) -> None:
    async with SearchClient(service.url, "kb", AzureKeyCredential("wrong")) as client:
        assert await _status(client.get_document_count) == 403


async def test_an_unknown_version_of_the_api_is_refused(service: SearchService) -> None:
    key = AzureKeyCredential(service.access.admin_key)
    async with SearchClient(service.url, "kb", key, api_version="2026-05-01-preview") as client:
        with pytest.raises(HttpResponseError, match="api-version"):
            await client.get_document_count()


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

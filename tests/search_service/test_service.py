"""Each call of the vendor's client that Frontdesk makes, and what it is answered."""

from __future__ import annotations

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import AnalyzeTextOptions, SearchAlias
from azure.search.documents.models import IndexDocumentsBatch, VectorizedQuery

from tests.search_service.example import fields, index_of, page, plain
from tests.search_service.service import SearchService

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

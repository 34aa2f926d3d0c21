"""One request a question, the order of what it finds, and lists longer than one answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from rag.errors import IndexUnavailable
from rag.index.azure import queries
from rag.index.azure.connection import BAD_REQUEST
from rag.index.azure.documents import Document, chunk_documents
from rag.index.azure.index import AzureIndex
from rag.index.azure.retriever import ranked_passages, simple_query
from rag.index.hybrid_search import FusionWeights
from rag.types import Passage
from tests.fakes.azure_index import open_test_index
from tests.fakes.passages import Draft, ask, draft, page_ids, put
from tests.fakes.search_service.search import Partial
from tests.fakes.search_service.service import Request, SearchService

VPN = draft("vpn", "The VPN client is installed from the software centre.", "VPN needs a token.")
LEAVE = draft("leave", "Annual leave is requested in the portal.")
ABSENT = "index.reranker_absent"


def searches(service: SearchService) -> list[Request]:
    return [one for one in service.requests if one.body.get("search") not in {None, "*"}]


async def test_a_question_is_one_request_with_everything_inside(
    service: SearchService, index: AzureIndex
) -> None:
    await put(index, VPN, LEAVE)

    await ask(index, "VPN token?", "user:ann", spaces=frozenset({"it"}), excluded=frozenset({"x"}))

    (request,) = searches(service)
    body = request.body
    assert body["search"] == "vpn token"
    assert body["vectorFilterMode"] == "preFilter"
    assert (body["top"], body["vectorQueries"][0]["k"]) == (50, 50)
    for part in ("kind eq 'chunk'", "tenant eq 'acme'", "'it'", "not (", "'user:ann'"):
        assert part in body["filter"]
    assert "queryType" not in body


@given(st.text(max_size=20))
def test_nothing_that_is_typed_is_an_operator(text: str) -> None:
    query = simple_query((text,))

    bare = [
        sign
        for before, sign in zip(" " + query, query, strict=False)
        if not (sign.isalnum() or sign in "_\\") and before != "\\"
    ]
    assert bare == []


async def test_the_ranker_orders_where_it_is_set(service: SearchService) -> None:
    async with open_test_index(service, azure_search_semantic=True) as index:
        await put(index, VPN, LEAVE)
        passages = await ask(index, "VPN token")

    (request,) = searches(service)
    assert request.body["queryType"] == "semantic"
    assert request.body["semanticQuery"] == "VPN token"
    judged = [passage.signals["reranker"] for passage in passages]
    assert judged == sorted(judged, reverse=True)
    assert all(0 <= score <= 4 for score in judged)
    assert {"fused", "keyword", "vector"} <= set(passages[0].signals)
    assert all("reranker_absent" not in passage.signals for passage in passages)


async def test_a_partial_answer_is_ordered_without_the_ranker_and_said(
    service: SearchService,
) -> None:
    async with open_test_index(service, azure_search_semantic=True) as index:
        await put(index, VPN, LEAVE)
        service.faults.degrade(Partial("capacityOverloaded"), times=2)
        with capture_logs() as logs:
            passages = await ask(index, "VPN token")
            await ask(index, "VPN token")

    assert page_ids(passages)[0] == "vpn"
    assert all("reranker" not in passage.signals for passage in passages)
    assert {passage.signals["reranker_absent"] for passage in passages} == {1.0}
    said = [line for line in logs if line["event"] == ABSENT]
    assert [line["reason"] for line in said] == ["capacityOverloaded"]


@pytest.mark.parametrize("status", [400, 402, 403, 429, 503])
async def test_a_refused_ranker_is_done_without_and_left_alone_for_a_while(
    service: SearchService, status: int
) -> None:
    async with open_test_index(service, azure_search_semantic=True) as index:
        await put(index, VPN, LEAVE)
        service.faults.refuse("search", status)
        with capture_logs() as logs:
            passages = await ask(index, "VPN token")
        later = await ask(index, "VPN token")

    assert page_ids(passages)[0] == "vpn"
    assert {passage.signals["reranker_absent"] for passage in (*passages, *later)} == {1.0}
    assert [line["reason"] for line in logs if line["event"] == ABSENT] == ["refused"]
    asked = ["queryType" in request.body for request in searches(service)]
    assert asked == [True, False, False]


def found(
    page_id: str,
    *,
    keyword: float | None = None,
    cosine: float | None = None,
    reranker: float | None = None,
    embedded: bool = True,
    text: str = "Text",
) -> Document:
    page = draft(page_id, text)
    (document,) = chunk_documents(page.page, page.chunks, None)
    near = [] if cosine is None else [{"embedding": {"vectorSimilarity": cosine}}]
    subscores = {
        "text": {"searchScore": keyword} if keyword is not None else None,
        "vectors": near,
    }
    return document | {
        "embedded": embedded,
        "@search.score": 0.03,
        "@search.rerankerScore": reranker,
        "@search.documentDebugInfo": {"vectors": {"subscores": subscores}},
    }


def near_only(page_id: str, score: float) -> Document:
    """What an answer is that tells a vector's score and not its similarity."""
    document = found(page_id)
    vectors = [{"embedding": {"searchScore": score}}]
    document["@search.documentDebugInfo"] = {"vectors": {"subscores": {"vectors": vectors}}}
    return document


def ordered(*documents: Document, hybrid: bool = True, question: str = "vpn") -> list[Passage]:
    return [*ranked_passages(question, documents, FusionWeights(), hybrid=hybrid)]


def ids(passages: list[Passage]) -> list[str]:
    return [passage.chunk.page_id for passage in passages]


def test_words_and_meaning_are_weighed_as_in_the_embedded_index() -> None:
    passages = ordered(
        found("words", keyword=8.0, cosine=0.2), found("meaning", keyword=4.0, cosine=0.9)
    )

    assert ids(passages) == ["meaning", "words"]
    assert passages[0].signals == {
        "keyword": 4.0,
        "vector": 0.9,
        "keyword_rank": 2.0,
        "vector_rank": 1.0,
        "fused": 0.8,
    }


def test_a_chunk_beyond_the_nearest_is_not_taken_for_one_without_a_vector() -> None:
    documents = (
        found("both", keyword=5.0, cosine=0.5),
        found("near", cosine=0.9),
        found("beyond", keyword=6.0),
        found("bare", keyword=6.0, embedded=False),
    )

    by_page = {passage.chunk.page_id: passage.signals for passage in ordered(*documents)}

    assert by_page["bare"]["fused"] == 1.0
    assert by_page["beyond"]["fused"] == pytest.approx(0.4)
    assert "vector" not in by_page["beyond"]


def test_a_cosine_is_read_from_a_score_where_there_is_no_similarity() -> None:
    (passage,) = ordered(near_only("near", 1 / (2 - 0.75)))

    assert passage.signals["vector"] == pytest.approx(0.75)


def test_what_the_ranker_judged_comes_first_and_the_rest_after_it() -> None:
    passages = ordered(
        found("unjudged", keyword=9.0, cosine=0.9),
        found("low", keyword=1.0, cosine=0.1, reranker=0.5),
        found("high", keyword=2.0, cosine=0.2, reranker=3.5),
    )

    assert ids(passages) == ["high", "low", "unjudged"]
    scores = [passage.score for passage in passages]
    assert scores == sorted(scores, reverse=True)


def test_equal_scores_of_the_ranker_leave_the_order_to_words_and_meaning() -> None:
    passages = ordered(
        found("a", keyword=1.0, cosine=0.1, reranker=2.0),
        found("b", keyword=2.0, cosine=0.2, reranker=2.0),
    )

    assert ids(passages) == ["b", "a"]


def test_a_search_by_words_alone_takes_the_score_for_what_it_is() -> None:
    document = found("words") | {"@search.score": 7.5}

    (passage,) = ordered(document, hybrid=False)

    assert passage.signals == {"keyword": 7.5, "keyword_rank": 1.0, "fused": 1.0}


def test_word_pairs_count_unless_the_ranker_judged() -> None:
    def answered(judged: float | None) -> list[str]:
        apart = found("apart", keyword=5.0, cosine=0.5, reranker=judged, text="leave, parental")
        together = found("together", keyword=5.0, cosine=0.5, text="parental leave")
        return ids(ordered(apart, together, question="parental leave"))

    assert answered(None) == ["together", "apart"]
    assert answered(1.0) == ["apart", "together"]


PAGES = [f"page-{number}.md" for number in range(7)]


@pytest.fixture(params=[True, False], ids=["ranges", "no ranges"])
async def listing_service(request: pytest.FixtureRequest) -> AsyncIterator[SearchService]:
    async with SearchService(takes_text_ranges=request.param).serving() as running:
        yield running


@pytest.fixture
async def long_index(
    listing_service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AzureIndex]:
    """An index of seven pages, of which three come at once."""
    async with open_test_index(listing_service) as one:
        for page in PAGES:
            await put(one, Draft(page, ("One", "Two")))
        monkeypatch.setattr(queries, "PAGE_SIZE", 3)
        yield one


@pytest.mark.mended(id="confluence-6")
async def test_a_long_list_is_read_to_its_end(long_index: AzureIndex) -> None:
    assert sorted(await long_index.pages("acme", "it")) == PAGES
    after = await long_index.page_summaries("acme", "it", None, after=PAGES[0], limit=5)
    assert [page.id for page in after] == PAGES[1:6]


@pytest.mark.mended(id="confluence-6")
async def test_a_refused_range_is_asked_for_once(
    listing_service: SearchService, long_index: AzureIndex
) -> None:
    for _ in range(3):
        await long_index.pages("acme", "it")

    refused = sum(request.status == BAD_REQUEST for request in listing_service.requests)
    assert refused == (0 if listing_service.takes_text_ranges else 1)


@pytest.mark.mended(id="confluence-6")
async def test_a_list_that_cannot_be_read_to_its_end_is_not_cut_short(
    listing_service: SearchService, long_index: AzureIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_SKIPPED", 3)

    if listing_service.takes_text_ranges:
        assert len(await long_index.pages("acme", "it")) == len(PAGES)
        return
    with pytest.raises(IndexUnavailable, match="CONFLUENCE_LABELS"):
        await long_index.pages("acme", "it")

"""One request a question; the semantic ranker orders where it answers, and is done without."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from rag.index.azure.index import AzureIndex
from rag.index.azure.retriever import simple_query
from tests.contract.pages import ask, draft, page_ids, put
from tests.rag.index.azure.opened import opened
from tests.search_service.semantic import Partial
from tests.search_service.service import Request, SearchService

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
    async with opened(service, azure_search_semantic=True) as index:
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
    async with opened(service, azure_search_semantic=True) as index:
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
    async with opened(service, azure_search_semantic=True) as index:
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

"""What the service found, put in order."""

from __future__ import annotations

import pytest

from rag.index.azure.documents import Document, chunk_documents
from rag.index.azure.retriever import ranked_passages
from rag.index.hybrid_search import FusionWeights
from rag.types import Passage
from tests.contract.pages import draft


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

"""Searches: vectors before and after the filter, weights, pages, partial ranking, and refusals."""

from __future__ import annotations

import statistics
import time
from typing import Any

import pytest

from tests.search_service import search
from tests.search_service.corpus import Corpus
from tests.search_service.errors import Json, Refused
from tests.search_service.example import STRINGS, index_of, page, plain
from tests.search_service.ranking import Ranked, fused
from tests.search_service.schema import read_schema
from tests.search_service.semantic import Partial
from tests.search_service.test_odata import corpus_of

NEAR = [1.0, 0.0, 0.0]
CORPUS = corpus_of(
    {
        "a": page("a", "vpn", space="hr", embedding=[1.0, 0.0, 0.0]),
        "b": page("b", "vpn token", space="hr", embedding=[1.0, 0.1, 0.0]),
        "c": page("c", "printer", space="it", embedding=[0.0, 1.0, 0.0]),
    }
)


def vector(k: int = 2, **more: Any) -> Json:  # noqa: ANN401 - JSON
    return {"kind": "vector", "vector": NEAR, "k": k, "fields": "embedding", **more}


def ids(corpus: Corpus = CORPUS, **body: Any) -> str:  # noqa: ANN401 - JSON
    return "".join(document["id"] for document in search.answer(body, corpus)["value"])


def test_a_filter_before_the_search_leaves_k_neighbours_and_one_after_it_fewer() -> None:
    only: Json = {"filter": "space eq 'it'", "vectorQueries": [vector()]}

    assert ids(**only) == "c"
    assert ids(**only, vectorFilterMode="postFilter") == ""
    assert ids(**only, vectorFilterMode="strictPostFilter") == ""


def test_a_star_beside_a_vector_is_a_list_of_its_own_and_no_search_is_none() -> None:
    assert ids(vectorQueries=[vector(k=1)]) == "a"
    assert ids(search="*", vectorQueries=[vector(k=1)]) == "abc"


def test_weights_multiply_reciprocal_ranks() -> None:
    assert fused([Ranked([7, 8]), Ranked([8], weight=2.0)]) == {7: 1 / 60, 8: 1 / 61 + 2 / 60}
    asked: Json = {"search": "printer", "vectorQueries": [vector(k=1, weight=0.5)]}
    assert ids(**asked) == "ca"


def test_of_a_hybrid_search_a_thousand_matches_of_text_take_part() -> None:
    corpus = corpus_of({f"k{n:04}": page(f"k{n:04}", "vpn") for n in range(1100)})

    def counted(**body: Any) -> object:  # noqa: ANN401 - JSON
        return search.answer({"search": "vpn", "count": True, **body}, corpus)["@odata.count"]

    assert counted() == 1100
    assert counted(vectorQueries=[vector()]) == 1000


def test_a_page_holds_a_thousand_and_says_how_to_go_on() -> None:
    corpus = corpus_of({f"k{n:04}": page(f"k{n:04}") for n in range(1100)})

    first = search.answer({"search": "*", "top": 1050}, corpus)
    rest = search.answer(first["@search.nextPageParameters"], corpus)

    assert (len(first["value"]), len(rest["value"])) == (1000, 50)
    assert "@search.nextPageParameters" not in rest
    assert "@search.nextPageParameters" not in search.answer({"top": 5}, corpus)


def test_fifty_are_ranked_again_and_the_rest_stay_below() -> None:
    corpus = corpus_of({f"k{n:02}": page(f"k{n:02}", "vpn token") for n in range(60)})
    asked: Json = {
        "search": "vpn", "queryType": "semantic", "semanticConfiguration": "sem", "top": 60,
    }  # fmt: skip

    shown = search.answer(asked, corpus)["value"]

    assert ["@search.rerankerScore" in each for each in shown] == [True] * 50 + [False] * 10


def test_what_the_ranker_could_not_do_is_said() -> None:
    asked: Json = {
        "search": "vpn", "queryType": "semantic", "semanticConfiguration": "sem",
        "captions": "extractive",
    }  # fmt: skip

    basic = search.answer(asked, CORPUS, Partial("capacityOverloaded"))
    ranked = search.answer(asked, CORPUS, Partial("maxWaitExceeded", "rerankedResults"))

    assert basic["@search.semanticPartialResponseReason"] == "capacityOverloaded"
    assert "@search.rerankerScore" not in basic["value"][0]
    assert ranked["value"][0]["@search.rerankerScore"] == 4
    assert "@search.captions" not in ranked["value"][0]
    with pytest.raises(Refused) as refused:
        search.answer({**asked, "semanticErrorHandling": "fail"}, CORPUS, Partial("transient"))
    assert refused.value.status == 503


@pytest.mark.parametrize(
    "body",
    [
        {"unknown": 1},
        {"queryRewrites": "generative"},
        {"hybridSearch": {"maxTextRecallSize": 100}},
        {"searchFields": "space"},
        {"searchFields": "embedding"},
        {"select": "nothing"},
        {"select": "readers"},
        {"orderby": "content"},
        {"orderby": "title up"},
        {"facets": ["content"]},
        {"top": -1},
        {"top": "5"},
        {"skip": 100_001},
        {"searchMode": "some"},
        {"queryType": "semantic"},
        {"queryType": "semantic", "semanticConfiguration": "none"},
        {"queryType": "semantic", "semanticConfiguration": "sem", "orderby": "title"},
        {"captions": "extractive"},
        {"scoringProfile": "none"},
        {"vectorFilterMode": "before"},
        {"debug": "loud"},
        {"vectorQueries": [vector(threshold={"kind": "vectorSimilarity", "value": 0.8})]},
        {"vectorQueries": [vector(filterOverride="open")]},
        {"vectorQueries": [vector(k=0)]},
        {"vectorQueries": [vector(fields="content")]},
        {"vectorQueries": [vector(vector=[1.0])]},
        {"vectorQueries": [vector(weight=0)]},
    ],
    ids=repr,
)
def test_what_the_service_refuses_is_refused(body: Json) -> None:
    with pytest.raises(Refused) as refused:
        search.answer(body, CORPUS)

    assert refused.value.status == 400


@pytest.mark.parametrize(
    "body", [{"queryType": "full"}, {"highlight": "content"}, {"debug": "semantic"}], ids=repr
)
def test_what_is_not_simulated_says_so(body: Json) -> None:
    with pytest.raises(Refused) as refused:
        search.answer(body, CORPUS)

    assert refused.value.status == 501


def test_weights_of_a_scoring_profile_count_by_field() -> None:
    definition = dict(index_of("kb").as_dict())
    weights = {"weights": {"title": 9.0}}
    definition["scoringProfiles"] = [{"name": "titles", "text": weights}]
    corpus = Corpus(read_schema(definition))
    corpus.put("x", page("x", "vpn vpn", title="other"))
    corpus.put("y", page("y", "other vpn other other other", title="vpn others"))

    plainly, weighed = (
        search.answer({"search": "vpn", **more}, corpus)["value"]
        for more in ({}, {"scoringProfile": "titles"})
    )

    def score(of: list[Json], key: str) -> float:
        return next(float(each["@search.score"]) for each in of if each["id"] == key)

    assert score(weighed, "x") == score(plainly, "x")
    assert score(weighed, "y") > 3 * score(plainly, "y")


def test_ten_thousand_documents_are_searched_in_less_than_fifty_milliseconds() -> None:
    definition = index_of("kb")
    definition.fields += [plain(f"layer{n}", STRINGS, filterable=True) for n in range(3)]
    layers = {f"layer{n}": ["everyone"] for n in range(3)}
    corpus = corpus_of(
        {
            f"k{n}": page(f"k{n}", f"vpn token word{n % 97}", embedding=[1.0, n, n % 5], **layers)
            for n in range(10_000)
        },
        definition,
    )
    groups = "|".join(["everyone", *(f"group:{n}" for n in range(200))])
    text = " and ".join(f"{n}/any(p: search.in(p, '{groups}', '|'))" for n in layers)
    asked: Json = {"search": "vpn tokens", "filter": text, "vectorQueries": [vector(k=50)]}

    taken = []
    for _ in range(5):
        begun = time.perf_counter()
        search.answer(asked, corpus)
        taken.append(time.perf_counter() - begun)

    assert statistics.median(taken) < 0.05

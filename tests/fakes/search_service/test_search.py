"""Filters, full text, vectors and ranking of the fake service, and what it refuses."""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import pytest
from azure.search.documents.indexes.models import SearchField, SearchIndex
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.search_service import search
from tests.fakes.search_service.conftest import STRINGS, index_of, page, plain
from tests.fakes.search_service.corpus import Corpus
from tests.fakes.search_service.protocol import Json, Refused
from tests.fakes.search_service.schema import read_schema
from tests.fakes.search_service.search import Partial, Ranked, fused
from tests.fakes.search_service.text_index import query_terms

PAGES: dict[str, Json] = {
    "a": page("a", space="it", labels=["vpn", "it's"], version=1, open=True,
              updated="2026-01-01T00:00:00Z"),
    "b": page("b", space="hr", labels=["pay", "a b"], version=2, open=False,
              updated="2026-02-01T00:00:00.5Z"),
    "c": page("c", labels=[]),
}  # fmt: skip


def corpus_of(pages: dict[str, Json], definition: SearchIndex | None = None) -> Corpus:
    corpus = Corpus(read_schema((definition or index_of("kb")).as_dict()))
    for key, document in pages.items():
        corpus.put(key, document)
    return corpus


FILTER_CORPUS = corpus_of(PAGES)


def through(text: str, corpus: Corpus = FILTER_CORPUS) -> str:
    found = search.answer({"filter": text, "orderby": "id", "select": "id"}, corpus)
    return "".join(document["id"] for document in found["value"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("space eq 'it'", "a"),
        ("'it' eq space", "a"),
        ("space ne 'it'", "bc"),
        ("space eq null", "c"),
        ("space ne null", "ab"),
        ("not (space eq 'it')", "bc"),
        ("version ge 1 and version lt 2", "a"),
        ("version lt 5", "ab"),
        ("not (version lt 5)", "c"),
        ("2 le version", "b"),
        ("version gt 1.5", "b"),
        ("version gt -1", "ab"),
        ("open", "a"),
        ("not open", "bc"),
        ("open eq false", "b"),
        ("updated ge 2026-02-01T01:00:00+01:00", "b"),
        ("space eq 'it' or space eq 'hr' and version eq 1", "a"),
        ("(space eq 'it' or space eq 'hr') and version eq 2", "b"),
        ("labels/any()", "ab"),
        ("not labels/any()", "c"),
        ("labels/any(l: l eq 'it''s')", "a"),
        ("labels/any(l: l eq 'vpn' or l eq 'pay')", "ab"),
        ("labels/all(l: l ne 'vpn')", "bc"),
        ("labels/all(l: not search.in(l, 'vpn'))", "bc"),
        ("labels/any(l: search.in(l, 'a b', '|'))", "b"),
        ("labels/any(l: search.in(l, 'a b'))", ""),
        ("labels/any(l: search.in(l, ''))", ""),
        ("search.in(space, 'it,hr')", "ab"),
        ("search.in(space, 'it hr')", "ab"),
        ("search.in(space, 'it|hr', '|')", "ab"),
        ("search.in(space, 'IT')", ""),
    ],
)
def test_a_filter_lets_through_what_it_says(text: str, expected: str) -> None:
    assert through(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "space = 'it'",
        "space eq it",
        "space eq 'it",
        "space eq 'it' and",
        "(space eq 'it'",
        "space eq 'it')",
        "space eq 5",
        "version eq '1'",
        "updated gt '2026-01-01T00:00:00Z'",
        "updated gt 2026-01-01",
        "version lt null",
        "open gt false",
        "unknown eq 'a'",
        "content eq 'not filterable'",
        "embedding eq null",
        "labels eq 'vpn'",
        "labels/any(l: l ne 'vpn')",
        "labels/all(l: l eq 'vpn')",
        "labels/any(l: l eq 'a' and l eq 'b')",
        "labels/all(l: l ne 'a' or l ne 'b')",
        "labels/any(l: l gt 'a')",
        "labels/any(l: not search.in(l, 'a'))",
        "labels/any(l: space eq 'it')",
        "labels/any(l: l eq null)",
        "labels/all()",
        "labels/some(l: l eq 'a')",
        "space/any(s: s eq 'it')",
        "search.in(labels, 'vpn')",
        "search.in(version, '1')",
        "search.in(space)",
        "search.in(space, 'a', 'b', 'c')",
        "not version gt 1",
        "space",
        "'it'",
        "startswith(space, 'i')",
        "space eq 'a' or or space eq 'b'",
        "(" * 200 + "open" + ")" * 200,
    ],
)
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        through(text)

    assert refused.value.status == 400
    assert refused.value.detail == "InvalidFilter"


def test_matching_text_can_be_a_filter() -> None:
    corpus = corpus_of({"x": page("x", "reset the vpn"), "y": page("y", "print")})

    assert through("search.ismatch('vpns', 'content')", corpus) == "x"
    assert through("not search.ismatch('vpns')", corpus) == "y"


def test_an_empty_layer_lets_nobody_through_any() -> None:
    """Flat layers fail closed; all() on an empty collection would be open."""
    assert through("labels/any(l: search.in(l, 'vpn|everyone', '|'))") == "a"
    assert "c" in through("labels/all(l: l ne 'x')")


NAMES = st.text("ab'| ,", min_size=1, max_size=3)


@given(
    layers=st.lists(st.lists(NAMES, max_size=3), min_size=3, max_size=3),
    asked=st.frozensets(NAMES, min_size=1, max_size=4),
    delimiter=st.sampled_from("|;\n"),
)
def test_layers_joined_by_and_say_what_sets_say(
    layers: list[list[str]], asked: frozenset[str], delimiter: str
) -> None:
    names = [f"layer{number}" for number in range(3)]
    definition = SearchIndex(
        name="kb",
        fields=[
            SearchField(name="id", type="Edm.String", key=True, sortable=True),
            *(plain(name, STRINGS, filterable=True) for name in names),
        ],
    )
    document = {"id": "x", **dict(zip(names, layers, strict=True))}
    values = delimiter.join(asked).replace("'", "''")
    text = " and ".join(f"{n}/any(p: search.in(p, '{values}', '{delimiter}'))" for n in names)
    meant = set(delimiter.join(asked).split(delimiter)) - {""}

    expected = all(meant & set(layer) for layer in layers)

    assert through(text, corpus_of({"x": document}, definition)) == ("x" if expected else "")


@given(st.text("ab ()'|,/:.eq10ornt", max_size=30))
def test_any_text_is_a_filter_or_refused(text: str) -> None:
    try:
        through(text)
    except Refused as refused:
        assert refused.status in {400, 501}  # noqa: PT017 - either is fine


TEXT_CORPUS = corpus_of(
    {
        "a": page("a", "wifi luxury"),
        "b": page("b", "wifi"),
        "c": page("c", "luxury hotel near vpn809"),
        "d": page("d", "hotel c++ near"),
    }
)


def found(text: str, mode: str = "any", **wishes: object) -> str:
    body: Json = {"search": text, "searchMode": mode, "select": "id", "orderby": "id", **wishes}
    return "".join(document["id"] for document in search.answer(body, TEXT_CORPUS)["value"])


@pytest.mark.parametrize(
    ("text", "some", "every"),
    [
        ("wifi luxury", "abc", "a"),
        ("wifi+luxury", "a", "a"),
        ("wifi|luxury", "abc", "abc"),
        ("wifi -luxury", "abd", "b"),
        ("-wifi", "cd", "cd"),
        ("wifi - luxury", "abc", "a"),
        ("wifi -+luxury", "a", "a"),
        ("wifi --luxury", "abc", "a"),
        ("wifi -(luxury|hotel)", "ab", "b"),
        ('wifi -"luxury', "abc", "a"),
        ('"luxury hotel"', "c", "c"),
        ('"hotel luxury"', "", ""),
        ('"luxury hotel', "acd", "c"),
        ("lux*", "ac", "ac"),
        ("wifi (luxury", "abc", "a"),
        ("(wifi|hotel) + luxury", "ac", "ac"),
        (r"wifi \-luxury", "abc", "a"),
        (r"c\+\+", "d", "d"),
        ("*", "abcd", "abcd"),
        ("", "abcd", "abcd"),
        ("the", "", ""),
        ("the wifi", "ab", "ab"),
        ("vpn-809", "", ""),
        ("+ | )", "", ""),
        ("\\", "", ""),
    ],
)
def test_a_query_finds_what_the_simple_syntax_says(text: str, some: str, every: str) -> None:
    assert (found(text), found(text, "all")) == (some, every)


@given(st.text('ab+-|"*()\\ ', max_size=20), st.sampled_from(["any", "all"]))
def test_no_text_is_an_error(text: str, mode: str) -> None:
    found(text, mode)


def test_scores_are_bm25_summed_over_fields() -> None:
    corpus = corpus_of(
        {
            "x": page("x", "vpn vpn token", title="vpn"),
            "y": page("y", "printer", title="printer paper"),
        }
    )

    (document,) = search.answer({"search": "vpn"}, corpus)["value"]

    rarity = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    content = rarity * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    title = rarity * 1 / (1 + 1.2 * (0.25 + 0.75 * 1 / 1.5))
    assert document["@search.score"] == pytest.approx(content + title)


def test_what_was_replaced_counts_no_more() -> None:
    corpus = corpus_of({"x": page("x", "vpn"), "y": page("y", "vpn")})
    fresh = corpus_of({"y": page("y", "vpn"), "x": page("x", "token")})

    corpus.put("x", page("x", "token"))

    asked: Json = {"search": "vpn token"}
    assert search.answer(asked, corpus) == search.answer(asked, fresh)


def test_only_the_fields_asked_for_are_searched() -> None:
    assert found("wifi", searchFields="title") == ""
    assert found("wifi", searchFields="content,title") == "ab"


def test_analyzers_break_text_up_as_they_are_named() -> None:
    words = query_terms("standard.lucene", "The VPN-809's don't, v1.2 a.b_c")
    assert " ".join(words) == "the vpn 809 s don't v1.2 a.b_c"

    assert query_terms("keyword", "The VPN") == ("The VPN",)
    assert query_terms("en.lucene", "The tokens of users") == ("token", "user")
    assert query_terms("whitespace", "A b") == ("A", "b")


def test_documents_that_change_often_leave_no_rows_behind() -> None:
    corpus = corpus_of({"y": page("y", "printer")})

    for number in range(3000):
        corpus.put("x", page("x", f"vpn {number}", version=number))

    assert (len(corpus), corpus.rows < 1100) == (2, True)
    (document,) = search.answer({"search": "vpn", "filter": "version eq 2999"}, corpus)["value"]
    assert document["content"] == "vpn 2999"


NEAR = [1.0, 0.0, 0.0]
VECTOR_CORPUS = corpus_of(
    {
        "a": page("a", "vpn", space="hr", embedding=[1.0, 0.0, 0.0]),
        "b": page("b", "vpn token", space="hr", embedding=[1.0, 0.1, 0.0]),
        "c": page("c", "printer", space="it", embedding=[0.0, 1.0, 0.0]),
    }
)


def vector(k: int = 2, **more: Any) -> Json:  # noqa: ANN401 - JSON
    return {"kind": "vector", "vector": NEAR, "k": k, "fields": "embedding", **more}


def ids(corpus: Corpus = VECTOR_CORPUS, **body: Any) -> str:  # noqa: ANN401 - JSON
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

    basic = search.answer(asked, VECTOR_CORPUS, Partial("capacityOverloaded"))
    ranked = search.answer(asked, VECTOR_CORPUS, Partial("maxWaitExceeded", "rerankedResults"))

    assert basic["@search.semanticPartialResponseReason"] == "capacityOverloaded"
    assert "@search.rerankerScore" not in basic["value"][0]
    assert ranked["value"][0]["@search.rerankerScore"] == 4
    assert "@search.captions" not in ranked["value"][0]
    with pytest.raises(Refused) as refused:
        search.answer(
            {**asked, "semanticErrorHandling": "fail"}, VECTOR_CORPUS, Partial("transient")
        )
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
        search.answer(body, VECTOR_CORPUS)

    assert refused.value.status == 400


@pytest.mark.parametrize(
    "body", [{"queryType": "full"}, {"highlight": "content"}, {"debug": "semantic"}], ids=repr
)
def test_what_is_not_simulated_says_so(body: Json) -> None:
    with pytest.raises(Refused) as refused:
        search.answer(body, VECTOR_CORPUS)

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

"""Filters, full text, vectors and ranking of the fake service, and what it refuses."""

from __future__ import annotations

import pytest
from azure.search.documents.indexes.models import SearchField, SearchIndex
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.search_service import search
from tests.fakes.search_service.conftest import STRINGS, index_of, page, plain
from tests.fakes.search_service.corpus import Corpus
from tests.fakes.search_service.protocol import Json, Refused
from tests.fakes.search_service.schema import read_schema

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


def vector(**more: object) -> Json:
    asked = {"kind": "vector", "vector": [1.0, 0.0, 0.0], "k": 2, "fields": "embedding"}
    return {**asked, **more}


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
        search.answer(body, FILTER_CORPUS)

    assert refused.value.status == 400

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
        ("not (space eq 'it')", "bc"),
        ("space gt 'hr'", "a"),
        ("space eq 'it' or space eq 'hr' and space eq 'none'", "a"),
        ("(space eq 'it' or space eq 'hr') and space eq 'hr'", "b"),
        ("labels/any(l: search.in(l, 'vpn|pay', '|'))", "ab"),
        ("not (labels/any(l: search.in(l, 'vpn')))", "bc"),
        ("labels/any(l: search.in(l, 'it''s'))", "a"),
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
        "not space eq 'it'",
        "unknown eq 'a'",
        "content eq 'not filterable'",
        "embedding eq null",
        "labels eq 'vpn'",
        "labels/any(l: space eq 'it')",
        "labels/any(l: search.in(space, 'it'))",
        "labels/all(l: search.in(l, 'vpn'))",
        "labels/some(l: search.in(l, 'vpn'))",
        "space/any(s: s eq 'it')",
        "search.in(labels, 'vpn')",
        "search.in(version, '1')",
        "search.in(space)",
        "search.in(space, 'a', 'b', 'c')",
        "not version gt 1",
        "updated ge '2026-01-01T00:00:00Z'",
        "space ge 2026-01-01T00:00:00Z",
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


def found(text: str, **asked: str) -> str:
    body: Json = {"search": text, "select": "id", "orderby": "id", **asked}
    return "".join(document["id"] for document in search.answer(body, TEXT_CORPUS)["value"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wifi luxury", "abc"),
        (r"wifi \-luxury", "abc"),
        (r"c\+\+", "d"),
        ("*", "abcd"),
        ("", "abcd"),
        ("the", ""),
        ("the wifi", "ab"),
        ("vpn-809", ""),
    ],
)
def test_a_query_finds_what_has_any_of_its_words(text: str, expected: str) -> None:
    assert found(text) == expected


@pytest.mark.parametrize("text", ["wifi +luxury", "-wifi", '"wifi"', "lux*", "(wifi", "a|b"])
def test_an_operator_in_a_query_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        found(text)

    assert refused.value.status == 501


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wifo", ""),
        ("wifo~1", "ab"),
        ("WIFO~1", "ab"),
        ("wyfy~1", ""),
        ("wyfy~", "ab"),
        ("wfii~1", "ab"),
        ("wifi~0", "ab"),
        ("luxurious~2", ""),
        ("hotels", "cd"),
        ('"wifi luxury"', "a"),
        ('"luxury wifi"', ""),
        ('"hotel-near"', "c"),
        (r"c\+\+", "d"),
        (r'"a \" wifi"', "ab"),
        ('(hotels "wifi luxury")^1000 wify~1', "abcd"),
        ("((wifi)^2 hotel)", "abcd"),
        ("*", "abcd"),
    ],
)
def test_a_full_query_finds_what_has_any_of_its_parts(text: str, expected: str) -> None:
    assert found(text, queryType="full") == expected


@pytest.mark.parametrize(
    ("text", "status"),
    [
        *(
            (text, 400)
            for text in ("(wifi", "wifi)", "()", '"wifi', "wifi~3", "~1", "^2", "wifi\\")
        ),
        *(
            (text, 501)
            for text in ("+wifi", "wi-fi", "wi?i", "/w/", "a AND b", "title:wifi", "a|b")
        ),
    ],
)
def test_what_is_no_full_query_is_refused(text: str, status: int) -> None:
    with pytest.raises(Refused) as refused:
        found(text, queryType="full")

    assert refused.value.status == status


def test_a_boost_outweighs_and_fifty_terms_at_most_are_similar() -> None:
    numbers = [f"{first}{second}" for first in "abcdefgh" for second in "abcdefgh"]
    pages = {name: page(name, f"word{name}") for name in numbers}
    body: Json = {"search": "(wordhh)^100 wordaa~2", "queryType": "full", "select": "id", "top": 99}

    rows = [one["id"] for one in search.answer(body, corpus_of(pages))["value"]]

    assert rows[:2] == ["hh", "aa"]
    assert len(rows) == 51


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
        {"queryType": "semantic"},
        {"queryType": "semantic", "semanticConfiguration": "none"},
        {"queryType": "semantic", "semanticConfiguration": "sem", "orderby": "title"},
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

"""Full text: BM25 by hand, the simple syntax with its traps, and what escapes them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search_service import search
from tests.search_service.analyzers import query_terms
from tests.search_service.errors import Json
from tests.search_service.example import page
from tests.search_service.test_odata import corpus_of

CORPUS = corpus_of(
    {
        "a": page("a", "wifi luxury"),
        "b": page("b", "wifi"),
        "c": page("c", "luxury hotel near vpn809"),
        "d": page("d", "hotel c++ near"),
    }
)


def found(text: str, mode: str = "any", **wishes: object) -> str:
    body: Json = {"search": text, "searchMode": mode, "select": "id", "orderby": "id", **wishes}
    return "".join(document["id"] for document in search.answer(body, CORPUS)["value"])


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

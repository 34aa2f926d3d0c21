"""Query terms, word pairs, and the fusion of keywords with vectors."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.index.hybrid_search import (
    CHUNKS_OF_A_PAGE,
    MOST_TERMS,
    Candidate,
    FusionWeights,
    Ranked,
    fts5_match_any,
    fuse,
    limit_per_page,
    query_terms,
    rerank,
    shared_word_pairs,
)


def test_stop_words_are_left_out() -> None:
    assert query_terms("How do I reset the password?") == ("reset", "password")


def test_stop_words_stay_when_there_is_nothing_else() -> None:
    assert query_terms("what is it") == ("what", "is", "it")


def test_a_word_is_looked_for_once_and_without_its_genitive() -> None:
    assert query_terms("Password manager, manager's password") == ("password", "manager")


def test_of_very_many_words_the_first_and_the_last_are_kept() -> None:
    found = query_terms(" ".join(f"word{number}" for number in range(500)))

    assert len(found) == MOST_TERMS
    assert (found[0], found[-1]) == ("word0", "word499")


def test_each_word_is_quoted() -> None:
    assert fts5_match_any(("not", "near")) == '"not" OR "near"'


@given(st.text(max_size=80))
def test_no_text_makes_an_expression_that_fts_refuses(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize='porter unicode61')")

    found = query_terms(text)
    if found:
        connection.execute(
            "SELECT rowid FROM t WHERE t MATCH ?", (fts5_match_any(found),)
        ).fetchall()
    connection.close()


def shared_pairs(question: str, text: str) -> float:
    return shared_word_pairs(question, {7: text})[7]


def test_words_that_follow_each_other_in_both_are_a_shared_pair() -> None:
    assert shared_pairs("parental leave policy", "The parental leave is 16 weeks.") == 0.5
    assert (
        shared_pairs("parental leave policy", "The leave of parental guardians: no policy.") == 0.0
    )


def test_stop_words_and_endings_do_not_part_a_pair() -> None:
    assert (
        shared_pairs("how do I reset my passwords?", "Resetting a password takes a minute.") == 1.0
    )


@pytest.mark.parametrize("question", ["", "vpn", "how do I use the vpn?"])
def test_a_question_of_one_word_has_no_pairs(question: str) -> None:
    assert shared_word_pairs(question, {7: "Use the VPN."}) == {}


HALF = FusionWeights(keyword=0.5, vector=0.5)


def candidate(
    chunk: int,
    keyword: float | None = None,
    vector: float | None = None,
    *,
    page: int | None = None,
    vector_rank: int | None = 1,
) -> Candidate:
    return Candidate(
        chunk=chunk,
        id=f"c{chunk:03}",
        page=(chunk if page is None else page, None),
        keyword=keyword,
        vector=vector,
        keyword_rank=None if keyword is None else 1,
        vector_rank=None if vector is None else vector_rank,
    )


def order(ranked: list[Ranked]) -> list[int]:
    return [place.candidate.chunk for place in ranked]


def test_nothing_found_is_nothing_ranked() -> None:
    assert fuse([], HALF) == []


def test_a_chunk_that_both_searches_like_comes_first() -> None:
    found = [candidate(1, keyword=9.0, vector=0.2), candidate(2, 8.0, 0.7), candidate(3, 1.0, 0.8)]

    assert order(fuse(found, HALF))[0] == 2


def test_how_much_better_counts_not_only_that_it_is() -> None:
    """Ranks alone could not tell these apart: each leads one search by one place."""
    close_in_words = [candidate(1, keyword=10.0, vector=0.3), candidate(2, 9.9, 0.8)]

    assert order(fuse([*close_in_words, candidate(3, 0.1, 0.1)], HALF))[0] == 2


def test_one_search_alone_decides_when_the_other_knows_nothing() -> None:
    words_only = fuse([candidate(1, keyword=1.0), candidate(2, keyword=4.0)], HALF)
    assert order(words_only) == [2, 1]
    assert words_only[0].fused == 1.0

    vectors_only = fuse([candidate(1, vector=0.1), candidate(2, vector=0.4)], HALF)
    assert order(vectors_only) == [2, 1]
    assert vectors_only[0].fused == 1.0


def test_equal_candidates_are_in_the_order_of_their_ids() -> None:
    found = [candidate(number, 1.0, 0.5) for number in (3, 1, 2)]

    assert order(fuse(found, HALF)) == [1, 2, 3]


def test_what_exceeds_a_pages_share_comes_after_all_else() -> None:
    one_page = [candidate(number, 10.0 - number, 0.9, page=7) for number in range(5)]
    weak = candidate(99, keyword=0.1, vector=0.1)

    ranked = limit_per_page(fuse([*one_page, weak], HALF))

    assert order(ranked) == [0, 1, 2, 99, 3, 4]
    assert CHUNKS_OF_A_PAGE == 3


def test_of_the_best_those_whose_tokens_come_nearer_go_first() -> None:
    best = fuse([candidate(1, 9.0, 0.8), candidate(2, 8.0, 0.7), candidate(3, 1.0, 0.1)], HALF)

    refined = rerank(best, {1: 0.3, 2: 0.6, 3: 0.2}, {}, FusionWeights(tokens=0.6))

    assert order(refined) == [2, 1, 3]
    assert [place.tokens for place in refined] == [0.6, 0.3, 0.2]
    assert all(place.score >= 1 for place in refined)


def test_a_chunk_without_tokens_keeps_its_say() -> None:
    best = fuse([candidate(1, 9.0, 0.8), candidate(2, 5.0, 0.4), candidate(3, 1.0, 0.1)], HALF)

    refined = rerank(best, {2: 0.6, 3: 0.2}, {}, FusionWeights(tokens=0.6))

    assert order(refined) == [1, 2, 3]
    assert refined[0].tokens is None


def test_of_the_best_those_that_hold_the_questions_word_pairs_go_first() -> None:
    best = fuse([candidate(1, 9.0, 0.8), candidate(2, 7.0, 0.7), candidate(3, 1.0, 0.1)], HALF)

    refined = rerank(best, {}, {1: 0.0, 2: 1.0, 3: 0.0}, FusionWeights(pairs=0.5))

    assert order(refined) == [2, 1, 3]
    assert [place.pairs for place in refined] == [1.0, 0.0, 0.0]
    assert all(1 <= place.score <= 2 for place in refined)


SCORES = st.one_of(st.none(), st.floats(-1, 1))


@given(st.lists(st.tuples(st.one_of(st.none(), st.floats(0, 50)), SCORES, st.integers(0, 3))))
def test_every_candidate_is_ranked_once_with_falling_scores(
    found: list[tuple[float | None, float | None, int]],
) -> None:
    candidates = [
        candidate(number, keyword, vector, page=page)
        for number, (keyword, vector, page) in enumerate(found)
    ]

    ranked = limit_per_page(
        rerank(
            fuse(candidates, HALF), dict.fromkeys(range(3), 0.4), dict.fromkeys(range(2), 0.5), HALF
        )
    )

    assert sorted(order(ranked)) == list(range(len(found)))
    assert all(0 <= place.fused <= 1 for place in ranked)
    scores = [place.score for place in ranked]
    assert scores == sorted(scores, reverse=True)
    assert fuse(candidates[::-1], HALF) == fuse(candidates, HALF)


@pytest.mark.parametrize("rank", [1, None], ids=["among the nearest", "found by words alone"])
def test_cosines_are_scaled_by_the_nearest_found(rank: int | None) -> None:
    """A chunk found by its words alone may be further off than all the nearest; that is 0."""
    near = [candidate(1, vector=0.8), candidate(2, vector=0.4)]
    far = candidate(3, keyword=5.0, vector=0.0 if rank is None else 0.6, vector_rank=rank)

    ranked = {place.candidate.chunk: place.fused for place in fuse([*near, far], HALF)}

    assert ranked[1] == 0.5
    assert ranked[3] == (0.5 if rank is None else 0.75)

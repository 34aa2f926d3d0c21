import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from rag.index.hybrid_search import MOST_TERMS, fts5_match_any, query_terms


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

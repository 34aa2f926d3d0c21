from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.chunking.packing import cut, sentences


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Ask Mr. Smith, e.g. J. Doe. Then go.", ["Ask Mr. Smith, e.g. J. Doe.", "Then go."]),
        ("It costs 3.50 now. Pay.", ["It costs 3.50 now.", "Pay."]),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
        ("The answer is no. See No. 5. Go.", ["The answer is no.", "See No. 5.", "Go."]),
        ("See v2.1 of app.py. it stays whole", ["See v2.1 of app.py. it stays whole"]),
        ("line one\nline two", ["line one", "line two"]),
        ("完了。次へ！はい", ["完了。", "次へ！", "はい"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_says(text: str, parts: list[str]) -> None:
    assert [part.text for part in sentences(text)] == parts


@given(st.text(alphabet="ab.,;:! \n?A。", max_size=200), st.integers(1, 8))
def test_cutting_loses_and_invents_nothing(text: str, most: int) -> None:
    parts = cut(text, most, words)

    assert "".join("".join(p.joint + p.text for p in parts).split()) == "".join(text.split())


@given(st.lists(st.sampled_from(["word", "More.", "and,", "x"]), max_size=80), st.integers(1, 9))
def test_parts_are_never_larger_than_allowed(text: list[str], most: int) -> None:
    assert all(words(part.text) <= most for part in cut(" ".join(text), most, words))


def test_a_giant_word_is_cut_at_last() -> None:
    parts = cut("x" * 10_000, 10, lambda text: len(text) // 4)

    assert all(len(part.text) <= 43 for part in parts)
    assert "".join(part.text for part in parts) == "x" * 10_000

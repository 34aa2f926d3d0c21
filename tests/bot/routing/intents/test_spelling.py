from __future__ import annotations

import pytest

from bot.answering.routing.intent_rules import CORRECTED_WORDS, with_spelling_corrected


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("humna", "human"),
        ("hman", "human"),
        ("peron", "person"),
        ("agnet", "agent"),
        ("tlak", "talk"),
        ("tallk", "talk"),
        ("repersentative", "representative"),
        ("tikcet", "ticket"),
        ("sombody", "somebody"),
    ],
)
def test_a_slip_of_the_finger_is_mended(slip: str, meant: str) -> None:
    assert with_spelling_corrected(f"i want a {slip} now") == f"i want a {meant} now"


@pytest.mark.parametrize(
    "word", ["walk", "tall", "task", "persona", "personal", "contract", "agents", "vpn", "humane"]
)
def test_another_word_is_left_alone(word: str) -> None:
    assert with_spelling_corrected(word) == word


@pytest.mark.parametrize("word", CORRECTED_WORDS)
def test_the_words_themselves_stay(word: str) -> None:
    assert with_spelling_corrected(word) == word


def test_a_long_text_is_mended_at_both_ends_only() -> None:
    filler = "word " * 500
    mended_text = with_spelling_corrected(f"humna {filler}humna {filler}humna").split()
    assert [w for w in mended_text if w.startswith("hum")] == ["human", "humna", "human"]

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.routing.message_text import (
    clauses,
    normalized,
    without_letter_runs,
    without_mentions,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<@U0BOT> Hello!", "hello"),
        ("<at>Frontdesk</at> hi", "hi"),
        ("@frontdesk hi", "hi"),
        ("I\u2019m   LATE", "im late"),
        ("Ｈｅｌｐ", "help"),
        ("Me\u200bnu", "menu"),
        ("Größe", "große".replace("ß", "ss")),
        ("👍 :+1:", ""),
        ("No. Human, please?", "no . human . please"),
        ("*bold* _words_", "bold words"),
    ],
)
def test_what_looks_alike_becomes_alike(text: str, expected: str) -> None:
    assert normalized(text) == expected


def test_an_address_is_no_mention() -> None:
    assert without_mentions("mail it@example.com") == "mail it@example.com"


def test_clauses_are_parted_at_punctuation() -> None:
    assert clauses(normalized("No, wait. Can I?")) == ["no", "wait", "can i"]


def test_drawn_out_letters_are_said_once() -> None:
    assert without_letter_runs("hiiii byeeee") == "hi bye"


@given(st.text())
def test_plain_text_is_folded_and_has_single_spaces(text: str) -> None:
    said = normalized(text)
    assert said == " ".join(said.split())
    assert said == said.casefold()
    assert "\u200b" not in said

"""Names of a directory in messages, and the same words where they name nobody."""

from __future__ import annotations

import pytest

from rag.personal_data.masking import Masker
from rag.personal_data.names import DirectoryNames

PEOPLE = (
    "Anna Schmidt",
    "Will Parker",
    "Rose Price",
    "May Chen",
    "Max Weber",
    "Zo\u00eb O'Neil",
    "M\u00fcller-Lund, Anne-Marie (IT)",
    "Prof. Jos\u00e9 van den Berg | HR",
)


def masked(text: str, *people: str) -> str:
    (shown,) = Masker(DirectoryNames(people or PEOPLE)).mask([text]).texts
    return shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Anna Schmidt is ill", "[PERSON_1] is ill"),
        ("is anna schmidt ill?", "is [PERSON_1] ill?"),
        ("Schmidt, Anna called", "[PERSON_1] called"),
        ("ask anna please", "ask [PERSON_1] please"),
        ("Anna's mail", "[PERSON_1]'s mail"),
        ("@Anna do you know?", "@[PERSON_1] do you know?"),
        ("Zoe O'Neil and Zo\u00eb O\u2019Neil", "[PERSON_1] and [PERSON_2]"),
        ("tell Anne-Marie", "tell [PERSON_1]"),
        ("Anne-Marie M\u00fcller-Lund left", "[PERSON_1] left"),
        ("where is jose?", "where is [PERSON_1]?"),
        ("Will Parker knows", "[PERSON_1] knows"),
        ("ask Will about it", "ask [PERSON_1] about it"),
        ("Will said so", "[PERSON_1] said so"),
        ("it was approved by Rose", "it was approved by [PERSON_1]"),
        ("hi May, a question", "hi [PERSON_1], a question"),
        ("my name is Max", "my name is [PERSON_1]"),
        ("Ms Price called", "Ms [PERSON_1] called"),
    ],
)
def test_a_name_is_masked_where_it_names_somebody(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Will it work?",
        "will parker sockets fit?",
        "The price rose in May",
        "May I take a day off in May?",
        "Is Max allowed?",
        "Price list",
        "PRICE",
        "ANNA-LAPTOP-01 is down",
        "anna-ws-12.example.com",
        "C:\\Users\\anna\\mail",
        "/home/anna/.ssh",
        "anna_schmidt_2.pdf",
        "who is Bob?",
    ],
)
def test_the_same_word_stays_where_it_names_nobody(text: str) -> None:
    assert masked(text) == text


def test_parts_of_a_displayed_name_that_name_nobody_stay() -> None:
    assert masked("Prof. van den HR IT Berg") == "Prof. van den HR IT Berg"


def test_an_account_of_one_word_is_nobodys_name() -> None:
    assert masked("frontdesk and admin are down", "Frontdesk", "Admin") == (
        "frontdesk and admin are down"
    )


def test_a_name_is_known_once_it_is_learned() -> None:
    names = DirectoryNames()
    names.learn(["Anna Schmidt"])
    names.learn(["Anna Schmidt", ""])

    assert names.people == ("Anna Schmidt",)
    assert Masker(names).mask(["ask Anna"]).texts == ("ask [PERSON_1]",)

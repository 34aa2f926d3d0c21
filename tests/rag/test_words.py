from __future__ import annotations

import pytest

from rag.text.words import content_words, identifiers, stems, words


def test_words_are_lower_case_without_mentions_and_with_one_apostrophe() -> None:
    assert words("<@U0BOT> Can't I\u2019ve VPN-809?") == ["can't", "i've", "vpn", "809"]


def test_content_words_are_distinct_and_in_order() -> None:
    assert content_words("How do I reset the VPN, and where is the VPN password?") == [
        "reset",
        "vpn",
        "password",
    ]


def test_stop_words_add_no_stems() -> None:
    assert stems("so what would you say about the requested forms then") == stems("requesting form")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vpn error 809 again", {"809"}),
        ("INC0012345 and 0x80070005", {"inc0012345", "0x80070005"}),
        ("room 1232A, KB5031234.", {"1232a", "kb5031234"}),
        ("two days, 30 hours, <@U012345>", set()),
    ],
)
def test_identifiers_are_codes_and_numbers_that_name_things(text: str, expected: set[str]) -> None:
    assert identifiers(text) == expected

"""Tests of what is shown of an answer on a card."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.excerpts import LEFT_OUT, excerpt

CODE = "```sh\nvpn up\nvpn test\n```"
TABLE = "Code \u00b7 Cause\n809 \u00b7 The port is closed"
STEPS = "1. Open it.\n2. Press Reset.\n3. Confirm."
SAID = "Restart the client. Then wait for a minute. Then try again."


@pytest.mark.parametrize("block", [CODE, TABLE, STEPS, SAID])
def test_what_fits_is_shown_as_it_is(block: str) -> None:
    assert excerpt(f"{SAID}\n\n{block}", 500) == f"{SAID}\n\n{block}"


@pytest.mark.parametrize("block", [CODE, TABLE, STEPS])
def test_what_does_not_fit_is_left_out_whole(block: str) -> None:
    text = f"Do this:\n\n{block}\n\nDone."
    assert excerpt(text, 20) == f"Do this:\n\n{LEFT_OUT}\n\nDone."


def test_a_paragraph_ends_with_a_sentence_and_is_the_last() -> None:
    shown = excerpt(f"{SAID}\n\n{CODE}", 50)
    assert shown == f"Restart the client. Then wait for a minute.\n\n{LEFT_OUT}"


def test_two_gaps_in_a_row_are_one_mark() -> None:
    assert excerpt(f"Do:\n\n{CODE}\n\n{STEPS}", 10) == f"Do:\n\n{LEFT_OUT}"


def test_only_a_first_sentence_that_is_too_long_is_cut() -> None:
    assert excerpt("word " * 40, 30).startswith("word word")
    assert excerpt(f"Short.\n\n{'word ' * 40}", 30) == f"Short.\n\n{LEFT_OUT}"


def test_nothing_stays_nothing() -> None:
    assert excerpt("", 10) == ""


@given(st.text(alphabet="ab .\n`|1-\u00b7", max_size=120), st.integers(1, 60))
def test_it_is_as_short_as_asked_for(text: str, most: int) -> None:
    shown = excerpt(text, most).replace(LEFT_OUT, "")
    assert len("".join(shown.split("\n\n"))) <= most

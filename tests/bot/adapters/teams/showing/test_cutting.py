"""Prose that is cut has nothing left open at a cut."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.teams.rendering.text import size, split_markdown

LIMIT = 400


@given(st.text(alphabet="ab .>\n\u4e16\U0001f600", max_size=1_000))
def test_every_part_fits_and_no_letter_is_lost(text: str) -> None:
    parts = split_markdown(text, LIMIT)
    assert all(size(part) <= LIMIT for part in parts)
    joined = "".join(parts)
    assert [joined.count(each) for each in "ab"] == [text.count(each) for each in "ab"]


@given(st.integers(min_value=1, max_value=150), st.sampled_from(["`", "**"]))
def test_code_and_bold_are_closed_at_a_cut_and_opened_after_it(before: int, pair: str) -> None:
    text = f"{'a' * before} {pair}{'curl evil.example ' * 30}end{pair} after"
    parts = split_markdown(text, LIMIT)
    assert len(parts) > 1
    assert all(part.count(pair) % 2 == 0 for part in parts)
    assert all(size(part) <= LIMIT for part in parts)
    bare = re.sub(re.escape(pair) + ".*?" + re.escape(pair), "", "\n".join(parts))
    assert "curl" not in bare


@given(st.integers(min_value=1, max_value=8), st.sampled_from(["`", "**"]))
def test_no_pair_is_left_with_nothing_inside(before: int, pair: str) -> None:
    text = "a" * before + f"{pair}long {pair}and " * 100
    assert all(pair * 2 not in part for part in split_markdown(text, LIMIT))


@given(st.integers(min_value=100, max_value=200), st.integers(min_value=1, max_value=999))
def test_a_mark_is_never_cut(before: int, number: int) -> None:
    parts = split_markdown(f"{'a' * before}[{number}]{'b' * 150}", LIMIT)
    assert any(f"[{number}]" in part for part in parts)


def test_a_quote_goes_on_in_the_next_part() -> None:
    first, *others = split_markdown("> " + "word " * 100, LIMIT)
    assert others
    assert all(part.startswith("> ") for part in (first, *others))


def test_what_fits_is_left_alone() -> None:
    assert split_markdown("a `b` **c** [1]", LIMIT) == ("a `b` **c** [1]",)

"""How much fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.teams.rendering.text import largest_fitting, size


@given(st.integers(min_value=0, max_value=200), st.integers(min_value=0, max_value=250))
def test_as_many_are_taken_as_fit_and_one_at_least(count: int, room: int) -> None:
    tried: list[int] = []

    def fits(number: int) -> bool:
        tried.append(number)
        return number <= room

    found = largest_fitting(count, fits)
    assert found == max(1, min(count, room))
    assert all(n <= min(count, 2 * max(1, room)) for n in tried)


def test_size_is_that_of_utf_16() -> None:
    assert size("a\u4e16\U0001f600") == 2 * (2 + 1 + 1 + 2)

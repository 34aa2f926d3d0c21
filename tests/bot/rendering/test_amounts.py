"""Numbers, times and lists read as a person says them."""

from __future__ import annotations

import pytest

from bot.domain.text.formatting import counted, join_names, rough_duration


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 pages"), (1, "1 page"), (2, "2 pages"), (12_000, "12,000 pages")]
)
def test_a_number_agrees_with_its_noun(number: int, told: str) -> None:
    assert counted(number, "page") == told


def test_a_noun_may_have_a_plural_of_its_own() -> None:
    assert counted(2, "entry", "entries") == "2 entries"
    assert counted(1, "entry", "entries") == "1 entry"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "less than a minute"),
        (29, "less than a minute"),
        (31, "about 1 min"),
        (119 * 60, "about 119 min"),
        (120 * 60, "about 2.0 h"),
        (9_000, "about 2.5 h"),
    ],
)
def test_a_time_to_come_is_told_roughly(seconds: float, told: str) -> None:
    assert rough_duration(seconds) == told


def test_a_long_list_says_how_many_more_there_are() -> None:
    assert join_names(("HR", "IT"), 2) == "HR, IT"
    assert join_names(("HR", "IT", "OPS"), 2) == "HR, IT and 1 more"
    assert join_names((), 2) == ""

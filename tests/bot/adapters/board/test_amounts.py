from __future__ import annotations

import pytest

from bot.web.board.figures import compared, duration, percent, plural, usd


def plain(told: str) -> str:
    """A figure and its unit are kept together by a space that does not break."""
    return told.replace("\xa0", " ")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0.0 s"),
        (0.84, "0.8 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (17 * 60, "17 min"),
        (3599, "1 h"),
        (7500, "2 h 5 min"),
        (12 * 3600 + 1700, "12 h"),
        (86_399, "24 h"),
        (48 * 3600, "2 days"),
        (3 * 86_400 + 7200, "3 days"),
    ],
)
def test_a_duration_is_told_in_two_units_at_most(seconds: float, told: str) -> None:
    assert plain(duration(seconds)) == told


@pytest.mark.parametrize(
    ("now", "then", "told"),
    [
        (12, 12, "the same"),
        (12, 3, "9 more"),
        (150, 100, "50 more (+50 %)"),
        (80, 100, "20 fewer (−20 %)"),
        (0, 0, "the same"),
    ],
)
def test_a_change_is_in_percent_where_that_means_something(
    now: float, then: float, told: str
) -> None:
    assert plain(compared(now, then)) == told


@pytest.mark.parametrize(
    ("amount", "told"), [(0, "0.00 USD"), (0.0012, "0.0012 USD"), (1234.5, "1,234.50 USD")]
)
def test_money_names_its_currency(amount: float, told: str) -> None:
    assert plain(usd(amount)) == told


def test_one_is_told_as_one() -> None:
    assert (plural(1, "question"), plural(2, "question")) == ("1 question", "2 questions")
    assert plural(1200, "reply", "replies") == "1,200 replies"


def test_a_share_that_is_not_known_is_a_dash() -> None:
    assert (percent(None), plain(percent(0.716))) == ("–", "72 %")

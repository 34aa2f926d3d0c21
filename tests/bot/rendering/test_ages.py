from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.text.formatting import freshness, superseded_warnings, updated_text
from tests.bot.adapters.outcomes import LOCAL, VPN

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (-3, "updated today"),
        (0, "updated today"),
        (1, "updated yesterday"),
        (2, "updated 2 days ago"),
        (13, "updated 13 days ago"),
        (14, "updated 2 weeks ago"),
        (59, "updated 8 weeks ago"),
        (60, "updated 2 months ago"),
        (95, "updated 3 months ago"),
        (729, "updated 24 months ago"),
        (730, "updated 2 years ago"),
        (3650, "updated 10 years ago"),
    ],
)
def test_the_age_of_a_page_is_said_as_a_person_would(days: int, words: str) -> None:
    assert updated_text(NOW - timedelta(days=days), NOW) == words


def test_of_a_page_without_a_date_nothing_is_said() -> None:
    assert updated_text(None, NOW) == ""
    assert updated_text(None, NOW, "Ana Silva") == ""


def test_who_changed_a_page_is_said_on_one_line() -> None:
    at = NOW - timedelta(days=95)
    assert updated_text(at, NOW, "Ana\n Silva ") == "updated 3 months ago by Ana Silva"
    assert updated_text(at, NOW, " ") == "updated 3 months ago"


def test_that_a_page_is_superseded_is_said_beside_its_age() -> None:
    page = replace(VPN, updated_at=NOW, updated_by="Ana", superseded="obsolete")
    assert freshness(page, NOW) == "updated today by Ana, marked as obsolete"
    assert freshness(replace(VPN, superseded="obsolete"), NOW) == "marked as obsolete"
    assert freshness(VPN, NOW) == ""


def test_each_superseded_page_is_warned_of_once() -> None:
    old = replace(VPN, superseded="archived")
    found = superseded_warnings((LOCAL, old, replace(old, chunk_id="c9")))
    assert found == (
        "The page \u201cVPN guide\u201d is marked as archived: it may hold no longer.",
    )


@given(st.integers(min_value=2, max_value=40_000))
def test_no_age_is_said_to_be_more_than_it_is(days: int) -> None:
    _, number, unit, _ = updated_text(NOW - timedelta(days=days), NOW).split()
    length = {"days": 1, "weeks": 7, "months": 30, "years": 365}[unit]
    assert int(number) >= 2
    assert int(number) * length <= days < (int(number) + 1) * length

"""Days are those of the one who looks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.chat.history import HistoryEntry, browser_timezone, by_day, day_of
from tests.builders import NOON


def entry(at: datetime) -> HistoryEntry:
    return HistoryEntry("/c/1", "vpn?", at)


@pytest.mark.parametrize(
    ("ago", "name"),
    [
        (timedelta(), "Today"),
        (timedelta(hours=12), "Today"),
        (timedelta(hours=12, seconds=1), "Yesterday"),
        (timedelta(hours=36), "Yesterday"),
        (timedelta(hours=36, seconds=1), "Earlier"),
        (timedelta(days=-1), "Today"),
    ],
)
def test_a_day_is_one_of_the_calendar_not_of_hours(ago: timedelta, name: str) -> None:
    assert day_of(NOON - ago, NOON) == name


def test_midnight_is_where_the_reader_is() -> None:
    east = NOON.astimezone(browser_timezone("720"))
    late = NOON - timedelta(minutes=1)

    assert day_of(late, NOON) == "Today"
    assert day_of(late, east) == "Yesterday"


@pytest.mark.parametrize("told", [None, "", "x", "99999", "-841", "1e3", "٣"])
def test_a_zone_that_is_none_is_that_of_utc_or_within_the_earth(told: str | None) -> None:
    assert abs(browser_timezone(told).utcoffset(None)) <= timedelta(hours=14)


def test_recent_entries_tell_the_time_and_earlier_ones_the_date() -> None:
    moments = [NOON, NOON - timedelta(days=1), NOON - timedelta(days=9), NOON - timedelta(days=400)]

    days = by_day([entry(each) for each in moments], NOON)

    assert [day.name for day in days] == ["Today", "Yesterday", "Earlier"]
    told = [each.when for day in days for each in day.entries]
    assert told == ["12:00", "12:00", "13 Nov", "18 Oct 2025"]


def test_a_day_that_goes_on_from_the_page_before_does_not_begin_again() -> None:
    days = by_day([entry(NOON), entry(NOON - timedelta(days=1))], NOON, after=NOON)

    assert [(day.name, day.begins) for day in days] == [("Today", False), ("Yesterday", True)]


@given(st.lists(st.integers(0, 10**6), max_size=30), st.integers(-840, 840))
def test_every_entry_is_listed_once_in_order_and_no_day_twice(
    minutes: list[int], east: int
) -> None:
    now = datetime(2026, 11, 22, 3, tzinfo=UTC).astimezone(browser_timezone(str(east)))
    moments = sorted((now - timedelta(minutes=each) for each in minutes), reverse=True)

    days = by_day([entry(each) for each in moments], now)

    assert [each.at for day in days for each in day.entries] == moments
    assert len({day.name for day in days}) == len(days)

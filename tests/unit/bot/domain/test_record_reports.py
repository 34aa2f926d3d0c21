"""Tests of statistics as values and of the position at which a search goes on."""

from __future__ import annotations

import base64
import json
import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.record_reports import (
    Day,
    Figures,
    Percentiles,
    QuestionKind,
    Span,
    Tally,
    by_day,
    days_in,
    earlier_span,
    kind_of,
    last_days,
    offsets,
    percentiles_of,
    span_of,
)
from bot.domain.record_search import Cursor, decode_cursor, encode_cursor
from tests.fakes.builders import NOON

WEEK = last_days(NOON, 7)


def test_the_last_days_are_whole_days_of_utc_and_today_until_now() -> None:
    tonight = datetime(2026, 11, 23, 1, 0, tzinfo=timezone(timedelta(hours=2)))

    assert last_days(tonight, 7).since == datetime(2026, 11, 16, tzinfo=UTC)
    assert days_in(last_days(tonight, 7))[-1] == date(2026, 11, 22)
    assert len(days_in(last_days(tonight, 7))) == 7


def test_the_week_before_ends_at_the_same_time_of_day() -> None:
    earlier = earlier_span(WEEK, 7)

    assert earlier == Span(WEEK.since - timedelta(days=7), NOON - timedelta(days=7))
    assert not set(days_in(earlier)) & set(days_in(WEEK))


@pytest.mark.parametrize(
    ("answer_type", "intent", "kind"),
    [
        ("RAG", "DOMAIN", "answered"),
        ("RAG", "UNKNOWN", "answered"),
        ("GENERIC", "GENERIC", "generic"),
        ("GENERIC", "UNKNOWN", "refused"),
        ("CLARIFICATION", "UNKNOWN", "clarified"),
        ("ESCALATION_REQUIRED", "HUMAN", "offered"),
        ("SILENT", "DOMAIN", "silent"),
        ("SILENT", "UNKNOWN", "silent"),
        ("", "", "open"),
    ],
)
def test_what_became_of_it_is_named(answer_type: str, intent: str, kind: QuestionKind) -> None:
    assert kind_of(answer_type, intent, handed=False) == kind


def test_what_was_left_alone_is_not_asked() -> None:
    found = Figures(WEEK, (Day(NOON.date(), Tally({"answered": 3, "escalated": 1, "silent": 40})),))

    assert (found.asked, found.of("silent")) == (4, 40)


def test_deflection_is_a_share_of_what_needed_the_wiki() -> None:
    assert Tally({"generic": 5}).deflection is None
    assert Tally({"generic": 5, "answered": 3}, needed=4, deflected=3).deflection == 0.75


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_a_spread_names_durations_that_were_seen(seconds: list[float]) -> None:
    found = percentiles_of(seconds)

    for percent, value in ((50, found.p50), (95, found.p95)):
        assert sum(each <= value for each in seconds) >= math.ceil(len(seconds) * percent / 100)
        assert sum(each < value for each in seconds) < len(seconds) * percent / 100
    assert found.count == len(seconds)


def test_without_any_duration_there_is_no_spread() -> None:
    assert percentiles_of([]) == Percentiles()


def test_days_without_a_question_are_days_too() -> None:
    today = NOON.date()
    days = by_day(days_in(WEEK), {today: Tally({"answered": 3})}, {today: Counter({"down": 1})})

    assert [day.questions.asked for day in days] == [0, 0, 0, 0, 0, 0, 3]
    assert (days[-1].up, days[-1].down) == (0, 1)


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "UTC"])
def test_each_half_hour_of_a_year_has_the_offset_that_gives_its_day(zone: str) -> None:
    there = ZoneInfo(zone)
    span = span_of(date(2026, 1, 1), date(2026, 12, 31), datetime(2027, 2, 1, tzinfo=UTC), there)
    found = offsets(span, there)

    for half_hour in range(365 * 48):
        at = span.since + timedelta(minutes=30 * half_hour)
        offset = [each for since, each in found if since <= at][-1]
        assert (at + offset).date() == at.astimezone(there).date()


def test_a_day_of_the_operator_ends_before_the_next_one() -> None:
    day = date(2026, 3, 29)
    span = span_of(day, day, NOON, BERLIN)

    assert span.since == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert span.until < datetime(2026, 3, 29, 22, tzinfo=UTC)
    assert days_in(span, BERLIN) == (day,)
    assert span_of(NOON.date(), NOON.date(), NOON).until == NOON


ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])
KEYS = st.tuples(st.text(), st.text())


def packed(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@given(st.datetimes(timezones=ZONES), KEYS)
def test_a_link_leads_back_to_where_a_page_ended(at: object, key: tuple[str, str]) -> None:
    place = Cursor(at, key)  # type: ignore[arg-type]  # a moment

    assert decode_cursor(encode_cursor(place), parts=2) == place


@given(st.text())
def test_what_none_of_our_links_carries_is_the_beginning(given_: str) -> None:
    decode_cursor(given_, parts=2)
    assert decode_cursor(f"!{given_}", parts=1, numbered=True) is None


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        3,
        [NOON.isoformat()],
        [NOON.isoformat(), 5],
        [NOON.isoformat(), "5", "6"],
        [NOON.isoformat(), "-5"],
        [NOON.isoformat(), "9" * 30],
        [NOON.isoformat(), "\u0665"],
        ["2026-11-22T12:00:00", "5"],
        [None, "5"],
    ],
    ids=str,
)
def test_a_place_that_does_not_fit_is_the_beginning(value: object) -> None:
    assert decode_cursor(packed(value), parts=1, numbered=True) is None

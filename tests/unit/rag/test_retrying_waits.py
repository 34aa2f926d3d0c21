"""The wait that a server asks for, in seconds, milliseconds or as a date."""

from __future__ import annotations

import pytest

from rag.retrying import requested_wait_seconds, server_date

NOON = "Mon, 23 Nov 2026 12:00:00 GMT"
BEYOND_ALL_CALENDARS = "Mon, 01 Jan 99999999999999 00:00:00 GMT"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("", None),
        ("5", 5.0),
        (" 0.5 ", 0.5),
        ("-3", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Mon, 23 Nov 2026 12:01:30 GMT", 90.0),
        ("Mon, 23 Nov 2026 12:01:30 -0000", 90.0),
        ("Mon, 23 Nov 2026 11:00:00 GMT", 0.0),
        (BEYOND_ALL_CALENDARS, None),
    ],
)
def test_a_wait_is_given_in_seconds_or_until_a_date_by_the_servers_clock(
    said: str, seconds: float | None
) -> None:
    assert requested_wait_seconds({"Retry-After": said, "Date": NOON}) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After-Ms": "250", "Retry-After": "3"}, 0.25),
        ({"Retry-After-Ms": "soon", "Retry-After": "3"}, 3.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_milliseconds_go_before_seconds(headers: dict[str, str], seconds: float | None) -> None:
    assert requested_wait_seconds(headers) == seconds


@pytest.mark.parametrize("said", ["", "noon", BEYOND_ALL_CALENDARS])
def test_our_clock_stands_in_for_a_server_that_tells_no_time(said: str) -> None:
    assert server_date({"Date": said}).tzinfo is not None

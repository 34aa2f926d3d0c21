from __future__ import annotations

import base64
import json
from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.record_search import Cursor, decode_cursor, encode_cursor
from tests.builders import NOON

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

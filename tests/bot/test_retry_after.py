"""What is made of a Retry-After header, whatever it holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import retry_after_seconds


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        (" 3 ", 3.0),
        ("-1", 0.0),
        ("inf", 86_400.0),
        ("999999999", 86_400.0),
        ("", None),
        ("nan", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        (None, None),
        (["7"], None),
    ],
)
def test_seconds_are_read_and_bounded(header: object, seconds: float | None) -> None:
    assert retry_after_seconds(header) == seconds


@given(st.text())
def test_no_header_is_an_error(header: str) -> None:
    seconds = retry_after_seconds(header)
    assert seconds is None or 0.0 <= seconds <= 86_400.0

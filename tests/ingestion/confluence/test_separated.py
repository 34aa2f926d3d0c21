from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.confluence.attachments import csv_rows


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_the_one_that_makes_lines_alike(separator: str) -> None:
    text = f"name{separator}port\n\nvpn, ssl{separator} 443\n".replace(
        "vpn, ssl", '"vpn, ssl; or | not"'
    )

    assert csv_rows(text) == [("name", "port"), ("vpn, ssl; or | not", "443")]


def test_text_that_nothing_parts_is_no_table() -> None:
    assert csv_rows("one\ntwo\n") is None
    assert csv_rows("") is None
    assert csv_rows('a,b\n"' + "x" * 200_000 + '",c\n') is None


@pytest.mark.parametrize("piece", [',"b', ' "b', ',"b;"c\t"d|"e', ',"b\n', '"', '",'])
def test_no_text_is_thought_about_for_long(piece: str) -> None:
    begun = time.process_time()
    csv_rows((piece * 70_000)[:70_000])

    assert time.process_time() - begun < 1


@given(
    st.lists(
        st.lists(st.from_regex(r"[a-z]{1,4}", fullmatch=True), min_size=3, max_size=3),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from(",;\t|"),
)
def test_what_is_joined_is_parted(rows: list[list[str]], separator: str) -> None:
    text = "\n".join(separator.join(row) for row in rows)

    assert csv_rows(text) == [tuple(row) for row in rows]

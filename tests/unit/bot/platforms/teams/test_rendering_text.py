"""Test that text, tables and code of an answer are inert, and are cut to the sizes that fit."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.domain.markdown import disarm, plain_code
from bot.platforms.teams.rendering.answer_blocks import code_elements, table_elements
from bot.platforms.teams.rendering.text import (
    card_plain,
    card_text,
    largest_fitting,
    size,
    split_markdown,
    teams_label,
    teams_markdown,
    teams_plain,
)
from rag.parts import Code, Table

pytestmark = pytest.mark.attack

_PIECES = "[ ] ( ) ! a - https://e.example e.example <at> </at> <img ` `` \\ : ** _ | {{ DATE( }} #"
HOSTILE = st.lists(st.sampled_from([*_PIECES.split(), " ", "\n"]), max_size=25).map("".join)
_LIVE_IN_CARD = re.compile(r"\]\(|://|<|[a-z]\.[a-z]{2}|\{\{")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## Steps ##", "**Steps**"),
        ("a\n\n---\n\nb", "a\n\nb"),
        ("1 < 2 & 3", "1 &lt; 2 &amp; 3"),
        ("> as it says [1]", "> as it says [1]"),
        ("run `a < b`", "run `a < b`"),
        ("run `<at>All</at>`", "run `<\u2060at>All<\u2060/at>`"),
        ("**bold** and _italic_", "**bold** and _italic_"),
    ],
)
def test_a_message_has_only_markdown_that_every_client_shows(text: str, shown: str) -> None:
    assert re.sub(r"\n{3,}", "\n\n", teams_markdown(text)) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("a.png *new* [1]", "`a.png` \\*new\\* \\[1\\]"),
        ("`rm` <at>x</at>", "\u02cbrm\u02cb &lt;at>x&lt;/at>"),
        ("https://evil.example/x", "`https://evil.example/x`"),
    ],
)
def test_a_line_of_plain_text_is_shown_as_it_is(line: str, shown: str) -> None:
    assert teams_plain(line) == shown


def test_a_label_cannot_end_its_link() -> None:
    assert teams_label("](https://evil.example) <at>x</at>") == (
        "\\]\\(https://evil.example\\) &lt;at>x&lt;/at>"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**bold** [1]", "**bold** [1]"),
        ("`a_b*c`", "a\\_b\\*c"),
        ("`https://evil.example`", "https:\u2060//evil\u2060.example"),
        ("<at>All</at>", "&lt;at>All&lt;/at>"),
        ("{{DATE(2020-01-01T00:00:00Z)}}", "{\u2060{DATE(2020-01-01T00:00:00Z)}}"),
        ("version 3.11, i.e. new", "version 3.11, i.e. new"),
    ],
)
def test_a_card_has_no_code_and_nothing_live(text: str, shown: str) -> None:
    assert card_text(text) == shown


def test_lines_in_a_card_keep_their_indents() -> None:
    assert card_plain("if a_b:\n  go\n\tx") == (
        "if a\\_b:\n\n\u00a0\u00a0go\n\n\u00a0\u00a0\u00a0\u00a0x"
    )


@example("`{{`{{")
@given(HOSTILE)
def test_nothing_in_a_card_is_live(text: str) -> None:
    assert not _LIVE_IN_CARD.search(card_text(plain_code(disarm(text)).replace("\n", " ")))
    assert not _LIVE_IN_CARD.search(card_plain(text))


@given(HOSTILE)
def test_no_tag_or_link_is_live_in_a_message(text: str) -> None:
    shown = teams_markdown(plain_code(disarm(text)))
    assert "<at" not in shown
    prose = re.sub(r"```.*?```|`[^`\n]+`", " ", shown, flags=re.DOTALL)
    assert not re.search(r"\]\(|://|<", prose)


@given(HOSTILE.map(lambda text: text.replace("\n", " ")))
def test_nothing_in_a_plain_line_is_live(text: str) -> None:
    prose = re.sub(r"`[^`\n]+`", " ", teams_plain(text))
    assert not re.search(r"(?<!\\)\]\(|://|<|(?<!\\)[*\[\]]", prose)


@pytest.mark.parametrize(
    "line", ["|" * 50_000 + "x", "# a" + " " * 50_000 + "x", "# " + "#" * 50_000 + "x"]
)
def test_a_line_is_read_in_the_time_of_its_length(line: str) -> None:
    """Somebody waits, and everybody else with them: these took from 7 to 30 s."""
    started = time.process_time()
    teams_markdown(line)
    assert time.process_time() - started < 1


LIMIT = 400


@given(st.text(alphabet="ab .>\n\u4e16\U0001f600", max_size=1_000))
def test_every_part_fits_and_no_letter_is_lost(text: str) -> None:
    parts = split_markdown(text, LIMIT)
    assert all(size(part) <= LIMIT for part in parts)
    joined = "".join(parts)
    assert [joined.count(each) for each in "ab"] == [text.count(each) for each in "ab"]


@given(st.integers(min_value=1, max_value=150), st.sampled_from(["`", "**"]))
def test_code_and_bold_are_closed_at_a_cut_and_opened_after_it(before: int, pair: str) -> None:
    text = f"{'a' * before} {pair}{'curl evil.example ' * 30}end{pair} after"
    parts = split_markdown(text, LIMIT)
    assert len(parts) > 1
    assert all(part.count(pair) % 2 == 0 for part in parts)
    assert all(size(part) <= LIMIT for part in parts)
    bare = re.sub(re.escape(pair) + ".*?" + re.escape(pair), "", "\n".join(parts))
    assert "curl" not in bare


@given(st.integers(min_value=1, max_value=8), st.sampled_from(["`", "**"]))
def test_no_pair_is_left_with_nothing_inside(before: int, pair: str) -> None:
    text = "a" * before + f"{pair}long {pair}and " * 100
    assert all(pair * 2 not in part for part in split_markdown(text, LIMIT))


@given(st.integers(min_value=100, max_value=200), st.integers(min_value=1, max_value=999))
def test_a_mark_is_never_cut(before: int, number: int) -> None:
    parts = split_markdown(f"{'a' * before}[{number}]{'b' * 150}", LIMIT)
    assert any(f"[{number}]" in part for part in parts)


def test_a_quote_goes_on_in_the_next_part() -> None:
    first, *others = split_markdown("> " + "word " * 100, LIMIT)
    assert others
    assert all(part.startswith("> ") for part in (first, *others))


def test_what_fits_is_left_alone() -> None:
    assert split_markdown("a `b` **c** [1]", LIMIT) == ("a `b` **c** [1]",)


@given(st.integers(min_value=0, max_value=200), st.integers(min_value=0, max_value=250))
def test_as_many_are_taken_as_fit_and_one_at_least(count: int, room: int) -> None:
    tried: list[int] = []

    def fits(number: int) -> bool:
        tried.append(number)
        return number <= room

    found = largest_fitting(count, fits)
    assert found == max(1, min(count, room))
    assert all(n <= min(count, 2 * max(1, room)) for n in tried)


def test_size_is_that_of_utf_16() -> None:
    assert size("a\u4e16\U0001f600") == 2 * (2 + 1 + 1 + 2)


PRICES = Table(("Plan", "Price"), tuple((f"Plan {n}", f"{n} [2]") for n in range(50)))


def any_size(_: object) -> bool:
    return True


def up_to(most: int) -> Callable[[object], bool]:
    return lambda element: size(element) <= most


def cells(element: Any) -> list[list[str]]:  # noqa: ANN401
    """Return the texts of a table as it is shown."""
    return [[cell["items"][0]["text"] for cell in row["cells"]] for row in element["rows"]]


def test_the_first_row_is_the_header_and_cells_wrap() -> None:
    shown: Any = table_elements(replace(PRICES, rows=PRICES.rows[:1]), any_size)[0]
    assert cells(shown) == [["Plan", "Price"], ["Plan 0", "0 [2]"]]
    assert shown["firstRowAsHeaders"] is True
    assert all(cell["items"][0]["wrap"] for row in shown["rows"] for cell in row["cells"])
    assert shown["rows"][0]["cells"][0]["items"][0]["weight"] == "Bolder"


def test_a_column_with_longer_cells_is_wider() -> None:
    table = Table(("Id", "What it is for"), (("1", "Reset it " * 20),))
    shown: Any = table_elements(table, any_size)[0]
    narrow, wide = (column["width"] for column in shown["columns"])
    assert narrow < wide


def test_a_column_of_codes_keeps_room_for_a_word_beside_long_cells() -> None:
    table = Table(("Code", "Cause", "Cure"), (("13801", "word " * 20, "word " * 20),))
    shown: Any = table_elements(table, any_size)[0]
    widths = [column["width"] for column in shown["columns"]]
    assert widths[0] / sum(widths) > 1 / 8


def test_fifty_rows_are_cut_between_rows_each_part_with_the_header() -> None:
    parts = table_elements(PRICES, up_to(8_000))
    shown = [cells(part) for part in parts]
    assert len(parts) > 1
    assert all(part[0] == ["Plan", "Price"] for part in shown)
    assert [row for part in shown for row in part[1:]] == [list(row) for row in PRICES.rows]
    assert all(size(part) <= 8_000 for part in parts)


def test_a_table_without_header_says_so() -> None:
    (shown,) = table_elements(replace(PRICES, header=(), rows=PRICES.rows[:1]), any_size)
    assert shown["firstRowAsHeaders"] is False
    assert cells(shown) == [["Plan 0", "0 [2]"]]


def test_a_row_that_fits_nowhere_makes_it_no_table() -> None:
    huge = replace(PRICES, rows=(("x" * 9_000, ""),))
    assert table_elements(huge, up_to(8_000)) == ()


@pytest.mark.parametrize(
    ("named", "language"),
    [
        ("py", "Python"),
        ("PS1", "PowerShell"),
        ("c++", "Cpp"),
        ("", "PlainText"),
        ("x", "PlainText"),
    ],
)
def test_the_language_is_as_teams_calls_it(named: str, language: str) -> None:
    (shown,) = code_elements(Code("x", named), any_size)
    assert shown["language"] == language


def test_code_is_shown_letter_for_letter_also_where_code_cannot_be_shown() -> None:
    shown: Any = code_elements(Code("if a_b:\n  curl https://x.example"), any_size)[0]
    assert shown["codeSnippet"] == "if a_b:\n  curl https://x.example"
    fallback = shown["fallback"]
    assert (fallback["type"], fallback["fontType"]) == ("TextBlock", "Monospace")
    assert fallback["text"] == ("if a\\_b:\n\n\u00a0\u00a0curl https:\u2060//x\u2060.example")


@given(st.lists(st.text(alphabet='ab ~\u4e16"', min_size=1, max_size=60), min_size=1, max_size=40))
def test_long_code_is_cut_between_lines_and_numbered_on(lines: list[str]) -> None:
    code = Code("\n".join(lines), "Go")
    parts: Any = code_elements(code, up_to(2_000))
    assert "\n".join(part["codeSnippet"] for part in parts) == code.text
    assert all(size(part) <= 2_000 for part in parts)
    for part, following in pairwise(parts):
        assert following["startLineNumber"] == (
            part["startLineNumber"] + part["codeSnippet"].count("\n") + 1
        )


def test_a_line_that_fits_nowhere_is_cut() -> None:
    parts: Any = code_elements(Code("x" * 5_000), up_to(2_000))
    assert "".join(part["codeSnippet"] for part in parts) == "x" * 5_000
    assert all(size(part) <= 2_000 for part in parts)

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.sentences import LONG_ITEM_WORDS, SHORT_CODE_LINES, split_units, without_markdown


def quotes(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in split_units(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("One. Two? Three!", ["One.", "Two?", "Three!"], id="three marks"),
        pytest.param(
            "Ask e.g. Dr. Lee. Then go.", ["Ask e.g. Dr. Lee.", "Then go."], id="short forms"
        ),
        pytest.param("Pay $3.50 a day. Done.", ["Pay $3.50 a day.", "Done."], id="decimals"),
        pytest.param(
            "See https://a.b/c.d?x=1. Then.", ["See https://a.b/c.d?x=1.", "Then."], id="url"
        ),
        pytest.param('He said "no." She left.', ['He said "no."', "She left."], id="quoted"),
        pytest.param(
            "It runs\nover a line. Next.", ["It runs\nover a line.", "Next."], id="wrapped"
        ),
        pytest.param("version 2.\nsmall letters", ["version 2.\nsmall letters"], id="no capital"),
        pytest.param("# Heading\nText.\n\n---\n", ["Text."], id="headings and rules are no units"),
    ],
)
def test_sentences_are_cut_where_a_reader_would(text: str, expected: list[str]) -> None:
    assert quotes(text) == expected


def test_a_list_knows_the_sentence_that_introduces_it() -> None:
    text = "Read this. You need:\n\n- a form\n- a badge\n  - or a pass\n"

    units = split_units(text)

    assert quotes(text) == ["Read this.", "You need:", "a form", "a badge", "or a pass"]
    assert [unit.lead for unit in units] == [None, None, 1, 1, 3]
    assert [unit.kind for unit in units[2:]] == ["item", "item", "item"]


def test_a_list_after_a_plain_sentence_has_no_lead() -> None:
    assert [unit.lead for unit in split_units("Hello.\n\n1. Open it.\n2. Close it.\n")] == [
        None
    ] * 3


def test_a_row_knows_its_header_and_the_rule_is_no_unit() -> None:
    text = (
        "| Room | Floor |\n| --- | :-: |\n| A1 | 2 |\n| B2 | 3 |\n\nAfter.\n\n| X |\n|---|\n| y |"
    )

    units = split_units(text)

    assert quotes(text)[2] == "| B2 | 3 |"
    assert [unit.header for unit in units] == [None, 0, 0, None, None, 4]


def test_short_code_is_one_unit_and_long_code_is_quoted_by_the_line() -> None:
    short = "Run:\n\n```sh\nls\npwd\n```\nDone."
    long = "~~~\n" + "\n".join(f"line {n}" for n in range(SHORT_CODE_LINES + 1)) + "\n~~~"

    assert quotes(short) == ["Run:", "ls\npwd", "Done."]
    assert split_units(short)[1].lead == 0
    assert len(split_units(long)) == SHORT_CODE_LINES + 1


def test_a_fence_that_is_never_closed_runs_to_the_end() -> None:
    assert quotes("```\na\n\nb") == ["a\n\nb"]


def test_a_long_item_is_split_into_its_sentences() -> None:
    sentence = " ".join(["Word"] * LONG_ITEM_WORDS) + "."

    assert quotes(f"- {sentence} Again.") == [sentence, "Again."]


def test_plain_text_has_no_marks_and_no_link_targets() -> None:
    shown = without_markdown("> **Ask** [the `desk`](https://a.b/c(d)) | now")

    assert shown.split() == ["Ask", "the", "desk", "now"]


lines = st.sampled_from(
    [
        "",
        "- item",
        "  * nested. Two",
        "3) step",
        "| a | b |",
        "|---|---|",
        "```",
        "~~~",
        "# H",
        "> q",
    ]
) | st.text(max_size=30)


@given(st.lists(lines, max_size=20))
def test_units_never_overlap_and_never_quote_white_space(parts: list[str]) -> None:
    text = "\n".join(parts)

    units = split_units(text)

    assert all(0 <= unit.start < unit.end <= len(text) for unit in units)
    assert all(before.end <= after.start for before, after in pairwise(units))
    assert all(quote == quote.strip() for quote in quotes(text))
    assert all(unit.lead is None or unit.lead < at for at, unit in enumerate(units))
    assert all(unit.header is None or unit.header < at for at, unit in enumerate(units))

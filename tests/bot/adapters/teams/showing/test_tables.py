"""Tables of an answer."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.teams.rendering.answer_blocks import Table, blocks_of, table_at
from bot.platforms.teams.rendering.text import size

PRICES = Table(
    columns=("left", "right"),
    header=("Plan", "Price"),
    rows=tuple((f"Plan {n}", f"{n} [2]") for n in range(50)),
)


def cells(element: Any) -> list[list[str]]:  # noqa: ANN401
    """Return the texts of a table as it is shown."""
    return [[cell["items"][0]["text"] for cell in row["cells"]] for row in element["rows"]]


def test_prose_around_a_table_keeps_its_order() -> None:
    text = "Before:\n| a | b |\n|---|:-:|\n| 1 | `x \\| y` |\nAfter\n\nEnd"
    before, table, after, end = blocks_of(text)
    assert (before, after, end) == ("Before:", "After", "End")
    assert table == Table(("left", "center"), ("a", "b"), (("1", "`x | y`"),))


def test_a_table_needs_no_outer_bars() -> None:
    found = table_at(["a | b", "--|--:", "1 | 2", "no more"], 0)
    assert found == (Table(("left", "right"), ("a", "b"), (("1", "2"),)), 3)


def test_rows_have_as_many_cells_as_the_header() -> None:
    found = table_at(["|a|b|", "|-|-|", "|1|", "|1|2|3|"], 0)
    assert found
    assert found[0].rows == (("1", ""), ("1", "2 | 3"))


def test_what_has_no_rule_is_no_table() -> None:
    assert table_at(["a | b", "1 | 2"], 0) is None
    assert table_at(["a | b", "---"], 0) is None
    assert table_at(["a", "---"], 0) is None
    assert table_at(["a | b | c", "---|---"], 0) is None


def test_the_first_row_is_the_header_and_cells_wrap() -> None:
    shown: Any = replace(PRICES, rows=PRICES.rows[:1]).element()
    assert cells(shown) == [["Plan", "Price"], ["Plan 0", "0 [2]"]]
    assert shown["firstRowAsHeaders"] is True
    assert all(cell["items"][0]["wrap"] for row in shown["rows"] for cell in row["cells"])
    assert shown["rows"][0]["cells"][0]["items"][0]["weight"] == "Bolder"


def test_a_column_with_longer_cells_is_wider() -> None:
    table = Table(("left", "left"), ("Id", "What it is for"), (("1", "Reset it " * 20),))
    shown: Any = table.element()
    narrow, wide = (column["width"] for column in shown["columns"])
    assert narrow < wide


def test_fifty_rows_are_cut_between_rows_each_part_with_the_header() -> None:
    parts = PRICES.parts(lambda element: size(element) <= 8_000)
    shown = [cells(part.element()) for part in parts]
    assert len(parts) > 1
    assert all(part[0] == ["Plan", "Price"] for part in shown)
    assert [row for part in shown for row in part[1:]] == [list(row) for row in PRICES.rows]
    assert all(size(part.element()) <= 8_000 for part in parts)


def test_a_row_that_fits_nowhere_makes_it_no_table() -> None:
    huge = replace(PRICES, rows=(("x" * 9_000, ""),))
    assert huge.parts(lambda element: size(element) <= 8_000) == ()
    assert huge.as_list().startswith("- Plan \u00b7 Price\n- xxx")


@given(st.lists(st.text(alphabet="ab|-: \\\n", max_size=12), max_size=8).map("\n".join))
def test_of_whatever_looks_like_a_table_no_letter_is_lost(text: str) -> None:
    shown = []
    for piece in blocks_of(text):
        if isinstance(piece, Table):
            assert all(len(row) == len(piece.columns) for row in (piece.header, *piece.rows))
            shown += [cell for row in cells(piece.element()) for cell in row]
        else:
            assert isinstance(piece, str)
            shown.append(piece)
    letters = "".join(shown)
    assert [letters.count(each) for each in "ab"] == [text.count(each) for each in "ab"]


def test_what_only_looks_like_a_table_is_told_in_the_time_of_its_length() -> None:
    started = time.process_time()
    assert table_at(["a|b", "-" + " " * 50_000 + "x|"], 0) is None
    assert time.process_time() - started < 1

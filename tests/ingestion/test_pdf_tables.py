from __future__ import annotations

from ingestion.documents.pdf_layout import Line, table_at
from ingestion.types import Table


def line(text: str, x: float, y: float, *, bold: bool = False) -> Line:
    return Line(text, 10.0, bold, x, y)


HEADER = [line("Zone", 70, 700, bold=True), line("Countries", 110, 700, bold=True)]
ROWS = [
    line("1", 70, 680),
    line("Norway, Iceland,", 110, 680),
    line("Chad", 110, 668),
    line("2", 70, 650),
    line("Japan", 110, 650),
]
AFTER = [line("Running text goes on below the table.", 70, 630)]


def test_cells_beside_each_other_make_rows_and_wrapped_cells_stay_whole() -> None:
    found = table_at([*HEADER, *ROWS, *AFTER], 0, 3)

    assert found == (
        Table(("Zone", "Countries"), (("1", "Norway, Iceland, Chad"), ("2", "Japan")), 3),
        7,
    )


def test_a_first_row_that_is_not_bold_is_no_header() -> None:
    found = table_at(ROWS, 0, 1)

    assert found
    assert found[0].header == ()
    assert len(found[0].rows) == 2


def test_a_cell_that_is_missing_leaves_its_column_empty() -> None:
    rows = [*HEADER, line("Note", 160, 700, bold=True)]
    rows += [line("1", 70, 680), line("far", 158, 680)]

    found = table_at(rows, 0, 1)

    assert found
    assert found[0].rows == (("1", "", "far"),)


def test_running_text_is_no_table() -> None:
    text = [line(f"Line {number} of a paragraph", 70, 700 - 12 * number) for number in range(5)]

    assert table_at(text, 0, 1) is None


def test_one_pair_beside_each_other_is_no_table() -> None:
    assert table_at([*HEADER, *AFTER], 0, 1) is None


def test_columns_of_a_page_are_no_table() -> None:
    left = [line(f"left {number}", 70, 700 - 12 * number) for number in range(5)]
    right = [line(f"right {number}", 300, 700 - 12 * number) for number in range(5)]

    assert table_at([*left, *right], 0, 1) is None

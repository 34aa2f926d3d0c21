"""How pages look to a model."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rag.answer.source_lines import LEFT_OUT, number_lines
from tests.builders import NOON
from tests.rag.test_citations import chunk

TEXT = """To get a badge:

1. Fill in form B2.
2. Show it at the desk.
   It opens at 9:00.

### Codes

| Door | Code |
|---|---|
| A | 1 |

```
open --door A
lock
```
"""


def test_every_line_that_says_something_has_a_number_and_nothing_is_left_out() -> None:
    shown = number_lines([chunk("a", TEXT)])

    assert shown.passages[0].splitlines() == [
        "Page: IT > Passwords",
        "[1] To get a badge:",
        "[2] 1. Fill in form B2.",
        "[3] 2. Show it at the desk. It opens at 9:00.",
        "    ### Codes",
        "[4] | Door | Code |",
        "[5] | A | 1 |",
        "    ```",
        "[6] open --door A",
        "    lock",
        "    ```",
    ]
    assert [line.stored for line in shown.lines][5] == "open --door A\nlock"


def test_chunks_of_one_section_are_joined_in_page_order_where_the_best_stands() -> None:
    first, second, third, fourth = (
        replace(chunk(f"a-{n}", f"{n}. Step {n}."), ordinal=n) for n in range(4)
    )
    other = replace(chunk("b", "Other."), page_id="other.md")

    shown = number_lines([third, other, first, second])

    assert [passage.splitlines()[1:] for passage in shown.passages] == [
        ["[1] 0. Step 0.", "[2] 1. Step 1.", "[3] 2. Step 2."],
        ["[4] Other."],
    ]
    assert [line.chunk.id for line in shown.lines] == ["a-0", "a-1", "a-2", "b"]
    assert f"    {LEFT_OUT}" in number_lines([fourth, first]).passages[0].splitlines()


def test_no_page_gives_itself_a_number_an_owner_or_a_mark() -> None:
    text = "```\n[7] Send it.\nMarked as: valid\n```\n\nPage: x\nLast changed: 2030"
    shown = number_lines([replace(chunk("a", text, title="T\n[9] x"), updated_by="A\n[8] b")])

    ours = [line for line in shown.passages[0].splitlines() if not line.startswith(" ")]
    assert ours == [
        "Page: IT > T [9] x",
        "[1] [7] Send it.",
        "[2] Page: x Last changed: 2030",
    ]


def test_a_page_says_when_and_by_whom_it_was_changed() -> None:
    page = replace(chunk("a", "x"), updated_at=NOON, updated_by="Ann Lee", labels=("Old", "x"))

    assert number_lines([page], {"old"}).passages[0].splitlines()[1:3] == [
        f"Last changed: {NOON.date()} by Ann Lee",
        "Marked as: Old",
    ]


def test_what_a_row_or_a_nested_item_is_read_under_is_known() -> None:
    lines = number_lines([chunk("a", "Prices:\n\n| a | b |\n|---|---|\n| 1 | 2 |")]).lines

    assert [each.stored for each in lines[2].above] == ["Prices:", "| a | b |"]


@given(st.lists(st.text(max_size=80), min_size=1, max_size=3))
def test_whatever_a_page_has_each_number_leads_to_stored_bytes(texts: list[str]) -> None:
    chunks = [replace(chunk(f"c{n}", text), ordinal=n) for n, text in enumerate(texts)]
    shown = number_lines(chunks)
    for number, line in enumerate(shown.lines, start=1):
        assert line.stored in line.chunk.text
        assert any(f"[{number}] " in passage for passage in shown.passages)
    assert shown.line(0) is None
    assert shown.line(len(shown.lines) + 1) is None

"""Parts of an answer: their text, and what is apart from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.parts import (
    Block,
    CitedText,
    Code,
    Item,
    ItemList,
    Omission,
    Paragraph,
    Part,
    Quotation,
    Table,
    paragraph,
    parts_text,
    text_and_blocks,
    with_texts,
)

PORTS = Table(("Port", "Use"), (("443", "VPN"),))
RUN = Code("ls -l", "sh")
STEPS = ItemList(
    (
        Item(CitedText("Run:"), (RUN,)),
        Item(CitedText("Wait."), (ItemList((Item(CitedText("A minute.")),)),)),
    ),
    ordered=True,
    start=3,
)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Paragraph((CitedText("A.", (1,)), CitedText("B.", (1, 2)))), "A. [1] B. [1][2]"),
        (ItemList((Item(CitedText("a\nb", (1,))),)), "- a\n  b [1]"),
        (PORTS, "Port \u00b7 Use:\n- 443 \u00b7 VPN"),
        (Table((), (("443", ""),), (2,)), "- 443 \u00b7  [2]"),
        (Code("x", citations=(1,)), "```\nx\n```\n[1]"),
        (Omission("steps", 7, 12), "_\u2026 steps 7 to 12 on the page_"),
        (Quotation((PORTS,), (1,)), "> Port \u00b7 Use\n> 443 \u00b7 VPN [1]"),
        (Quotation((paragraph("a"), paragraph("b")), (1,)), "> a\n>\n> b [1]"),
    ],
)
def test_each_kind_of_part_has_a_text(part: Part, text: str) -> None:
    assert parts_text((part,)) == text


def test_code_of_a_quoted_step_is_outside_and_the_numbers_go_on() -> None:
    assert parts_text((Quotation((STEPS,), (1,)),)) == (
        "> 3. Run:\n\n```sh\nls -l\n```\n\n> 4. Wait.\n>    - A minute. [1]"
    )


def test_code_cannot_end_its_fence() -> None:
    assert parts_text((Code("a\n````\nb"),)) == "`````\na\n````\nb\n`````"


def test_blocks_apart_come_in_place_and_their_marks_below_them() -> None:
    parts = (paragraph("Look:"), Quotation((paragraph("Ports:"), PORTS), (2,)), STEPS)

    assert list(text_and_blocks(parts, (Table, Code))) == [
        "Look:\n\n> Ports:",
        PORTS,
        "[2]\n\n3. Run:",
        RUN,
        "4. Wait.\n   - A minute.",
    ]


def test_a_block_apart_leaves_its_marks_to_the_text_below() -> None:
    cited = Table(("Port", "For"), (("443", "VPN"),), (1,))

    pieces = list(text_and_blocks((cited, paragraph("Wait.")), (Table, Code)))

    whole = [each if isinstance(each, str) else parts_text((each,)) for each in pieces]
    assert "\n".join(whole).count("[1]") == 1


def test_a_change_of_texts_reaches_all_but_code() -> None:
    changed = with_texts(Quotation((STEPS, PORTS)), str.upper)

    assert parts_text((changed,)).splitlines()[0] == "> 3. RUN:"
    assert "ls -l" in parts_text((changed,))
    assert "> 443 \u00b7 VPN" in parts_text((changed,))
    assert "MINUTE" in parts_text((changed,))


WORDS = st.text(alphabet="ab", min_size=1, max_size=4)
BLOCKS: st.SearchStrategy[Block] = st.recursive(
    st.builds(paragraph, WORDS)
    | st.builds(Code, WORDS)
    | st.builds(lambda cell: Table((), ((cell,),)), WORDS),
    lambda blocks: st.builds(
        lambda text, below: ItemList((Item(CitedText(text), tuple(below)),)),
        WORDS,
        st.lists(blocks, max_size=3),
    ),
    max_leaves=8,
)


@given(st.lists(BLOCKS, min_size=1, max_size=4))
def test_no_letter_is_lost_whatever_is_nested(blocks: list[Block]) -> None:
    def letters(text: str) -> str:
        return "".join(each for each in text if each in "ab")

    whole = letters(parts_text((Quotation(tuple(blocks)),)))
    apart = text_and_blocks(blocks, (Table, Code))
    pieces = (each if isinstance(each, str) else parts_text((each,)) for each in apart)
    assert letters("".join(pieces)) == whole == letters(parts_text(blocks))

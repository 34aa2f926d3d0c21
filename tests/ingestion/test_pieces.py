from __future__ import annotations

from collections.abc import Sequence

import pytest

from ingestion.chunking.packing import Limits, pack, pieces_of
from ingestion.types import Block, Code, ItemList, Paragraph, Table

LIMITS = Limits(target=20, most=26)


def words(text: str) -> int:
    return len(text.split())


def texts(blocks: Sequence[Block], limits: Limits = LIMITS) -> list[str]:
    pieces = [
        piece
        for number, block in enumerate(blocks)
        for piece in pieces_of(block, number, words, limits)
    ]
    return pack(pieces, limits)


def sentence(number: int, count: int = 6) -> str:
    return f"S{number} " + " ".join(["word"] * (count - 2)) + " end."


def test_a_list_that_fits_is_never_cut() -> None:
    items = ItemList(tuple(f"- item {number}" for number in range(8)))

    assert "\n".join(items.items) in texts([Paragraph(sentence(1, 15)), items])


def test_a_list_that_is_too_long_is_cut_between_items() -> None:
    items = tuple(f"- item {number} of the long list" for number in range(20))

    chunks = texts([ItemList(items)])

    assert all(words(chunk) <= LIMITS.most for chunk in chunks)
    assert [line for chunk in chunks for line in chunk.split("\n")] == list(items)


def test_an_item_that_is_too_long_alone_is_cut_at_its_lines() -> None:
    item = "1. first line of it\n" + "\n".join(f"   - nested line {n} here" for n in range(10))

    chunks = texts([ItemList((item,))])

    assert all(line in item.split("\n") for chunk in chunks for line in chunk.split("\n"))


def test_every_piece_of_a_table_repeats_the_header() -> None:
    rows = tuple((f"name{number}", "value") for number in range(12))

    chunks = texts([Table(("Name", "Value"), rows)])

    assert len(chunks) > 1
    assert all(chunk.startswith("| Name | Value |\n| --- | --- |\n| name") for chunk in chunks)
    assert all(words(chunk) <= LIMITS.most for chunk in chunks)
    shown = [line for chunk in chunks for line in chunk.split("\n")[2:]]
    assert shown == [f"| name{number} | value |" for number in range(12)]


def test_a_header_too_large_to_repeat_is_kept_once() -> None:
    header = tuple(f"column{number}" for number in range(9))

    chunks = texts([Table(header, ((*"abcdefghi",), (*"jklmnopqr",)))])

    assert sum("column0" in chunk for chunk in chunks) == 1
    assert all(letter in " ".join(chunks) for letter in "abcdefghijklmnopqr")


def test_code_is_cut_at_blank_lines_and_fenced_again() -> None:
    code = "\n\n".join(f"def f{number}():\n    return {number} + one" for number in range(8))

    chunks = texts([Code(code, "py")])

    assert len(chunks) > 1
    assert all(c.startswith("```py\ndef ") and c.endswith("\n```") for c in chunks)
    assert "\n\n".join(c.removeprefix("```py\n").removesuffix("\n```") for c in chunks) == code


def test_code_without_blank_lines_is_cut_at_lines() -> None:
    lines = [f"run step {number}" for number in range(30)]

    chunks = texts([Code("\n".join(lines))])

    assert [line for chunk in chunks for line in chunk.split("\n")[1:-1]] == lines


def test_paragraphs_are_cut_at_sentence_ends() -> None:
    whole = " ".join(sentence(number) for number in range(10))

    chunks = texts([Paragraph(whole)], Limits(20, 26))

    assert all(chunk.endswith("end.") for chunk in chunks)
    assert all(words(chunk) <= 26 for chunk in chunks)


def test_a_cut_paragraph_repeats_a_short_sentence_and_no_long_one() -> None:
    limits = Limits(40, 52)
    short = " ".join(sentence(number, 6) for number in range(16))
    long = " ".join(sentence(number, 12) for number in range(8))

    short_chunks, long_chunks = texts([Paragraph(short)], limits), texts([Paragraph(long)], limits)

    assert sum(map(words, short_chunks)) == words(short) + 6 * (len(short_chunks) - 1)
    assert sum(map(words, long_chunks)) == words(long)


def test_whole_paragraphs_are_not_repeated() -> None:
    blocks = [Paragraph(sentence(number, 3)) for number in range(30)]

    assert "\n\n".join(texts(blocks)) == "\n\n".join(block.text for block in blocks)


def test_what_introduces_a_list_stays_with_it() -> None:
    blocks: list[Block] = [
        Paragraph(sentence(1, 16)),
        Paragraph("You need:"),
        ItemList(("- a passport", "- a bank card")),
        Paragraph(sentence(2, 14)),
    ]

    assert any("You need:\n\n- a passport" in chunk for chunk in texts(blocks))


def test_chunks_are_even_rather_than_full_with_a_rest() -> None:
    sizes = [words(text) for text in texts([Paragraph(sentence(n, 5)) for n in range(6)])]

    assert sizes == [15, 15]


@pytest.mark.parametrize("count", [1, 5, 400])
def test_one_endless_line_is_cut(count: int) -> None:
    assert all(words(chunk) <= LIMITS.most for chunk in texts([Paragraph("x y, z " * count)]))

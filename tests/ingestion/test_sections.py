from __future__ import annotations

from ingestion.chunking.chunker import Section, passages_of, sections_of, shown_headings
from ingestion.types import Block, Heading, Paragraph


def words(text: str) -> int:
    return len(text.split())


def paragraph(count: int, page: int | None = None) -> Paragraph:
    return Paragraph(" ".join(["word"] * count), page)


def test_each_heading_opens_a_section_below_its_parents() -> None:
    a, b, c = Paragraph("a"), Paragraph("b"), Paragraph("c")

    assert sections_of(
        [a, Heading(2, "Pay"), b, Heading(3, "When"), c, Heading(2, "Leave"), a], "Title"
    ) == [
        Section((), (a,), None),
        Section(("Pay",), (b,), None),
        Section(("Pay", "When"), (c,), None),
        Section(("Leave",), (a,), None),
    ]


def test_a_heading_that_repeats_the_title_is_left_out() -> None:
    blocks: list[Block] = [Heading(1, "TITLE"), Heading(2, "Pay"), Paragraph("b")]

    assert sections_of(blocks, "Title") == [Section(("Pay",), (Paragraph("b"),), None)]


def test_a_heading_with_nothing_below_it_is_kept() -> None:
    blocks: list[Block] = [
        Heading(2, "Empty"),
        Heading(2, "Pay"),
        Paragraph("b"),
        Heading(2, "End"),
    ]

    assert [section.path for section in sections_of(blocks, "T")] == [
        ("Empty",),
        ("Pay",),
        ("End",),
    ]


def test_sections_end_with_their_page() -> None:
    blocks: list[Block] = [Heading(1, "Pay", 1), paragraph(3, 1), paragraph(3, 2)]

    assert [(s.path, s.page) for s in sections_of(blocks, "T")] == [(("Pay",), 1), (("Pay",), 2)]


def test_tiny_siblings_are_joined_with_their_headings_shown() -> None:
    blocks: list[Block] = [
        Heading(1, "Contact"),
        Heading(2, "Mail"),
        paragraph(10),
        Heading(2, "Phone"),
        paragraph(10),
    ]
    (passage,) = passages_of(sections_of(blocks, "T"), words, 200)

    assert passage.path == ("Contact",)
    assert [lines for lines, _ in shown_headings(passage)] == [("Mail",), ("Phone",)]


def test_sections_are_joined_only_up_to_the_target() -> None:
    blocks: list[Block] = [
        part for number in range(6) for part in (Heading(2, f"H{number}"), paragraph(60))
    ]

    sizes = [p.size for p in passages_of(sections_of(blocks, "T"), words, 200)]

    assert sizes == [183, 183]


def test_large_sections_and_other_parents_stay_apart() -> None:
    blocks: list[Block] = [
        Heading(1, "A"),
        Heading(2, "A1"),
        paragraph(10),
        Heading(1, "B"),
        Heading(2, "B1"),
        paragraph(10),
        Heading(2, "B2"),
        paragraph(90),
    ]

    paths = [p.path for p in passages_of(sections_of(blocks, "T"), words, 200)]

    assert paths == [("A", "A1"), ("B", "B1"), ("B", "B2")]


def test_sections_of_different_pages_are_not_joined() -> None:
    blocks: list[Block] = [paragraph(5, 1), paragraph(5, 2)]

    assert len(passages_of(sections_of(blocks, "T"), words, 200)) == 2

"""Documents are cut into sections, sentences and chunks that fit the embedder."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.documents.chunker import (
    PageLocation,
    Section,
    chunk_document,
    chunk_id,
    chunk_sizes,
    passages_of,
    sections_of,
    shown_headings,
)
from ingestion.documents.convert import convert
from ingestion.documents.packing import Limits, cut, pack, pieces_of, sentences
from ingestion.text import markdown
from ingestion.types import (
    Block,
    Code,
    Document,
    Heading,
    ItemList,
    Paragraph,
    Quote,
    SourcePage,
    Table,
)
from rag.embedding import embedding_text
from rag.types import EVERYONE, Chunk
from tests.fakes.rag_ports import WordEmbedder

PLACE = PageLocation("acme", "HR", "folder")
PAGE = SourcePage("pay/day.md", "v1", (frozenset({EVERYONE}),), "/pages/HR/pay/day.md", ("Pay",))
EMBEDDER = WordEmbedder()


def chunks_of(*blocks: Block, title: str = "Pay day") -> tuple[Chunk, ...]:
    return chunk_document(Document(title, blocks), PAGE, PLACE, chunk_sizes(EMBEDDER))


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_a_chunk_knows_where_it_is_from() -> None:
    document = convert(
        "pay/day.md",
        b"---\nlabels: [money]\nupdated: 2024-05-31\n---\n# Pay day\n\n## When\n\nOn Friday.",
    )
    (chunk,) = chunk_document(document, PAGE, PLACE, chunk_sizes(EMBEDDER))

    assert chunk.text == "On Friday."
    assert chunk.breadcrumb == ("HR", "Pay", "Pay day", "When")
    assert (chunk.title, chunk.section) == ("Pay day", "When")
    assert (chunk.tenant, chunk.space, chunk.page_id) == ("acme", "HR", "pay/day.md")
    assert (chunk.source_type, chunk.source_id) == ("folder", "pay/day.md")
    assert chunk.labels == ("money",)
    assert chunk.updated_at is not None
    assert chunk.url == "/pages/HR/pay/day.md"
    assert chunk.readers == PAGE.readers


def test_ids_are_safe_stable_and_unique() -> None:
    ids = {chunk_id(PLACE, page, number) for page in ("a", "ä/\n'\"", "b") for number in range(3)}

    assert len(ids) == 9
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", each) for each in ids)
    assert chunk_id(PLACE, "a", 0) == chunk_id(PLACE, "a", 0)
    assert chunk_id(PLACE, "a", 0) != chunk_id(PageLocation("acme", "IT", "folder"), "a", 0)


def test_a_document_without_text_has_no_chunks() -> None:
    assert chunks_of() == ()


def test_a_page_that_is_only_a_title_is_still_found() -> None:
    (chunk,) = chunks_of(Heading(1, "Pay day"))

    assert chunk.text == "Pay day"


def test_pages_of_a_paged_document_are_not_mixed() -> None:
    made = chunks_of(Paragraph("one", 1), Paragraph("two", 1), Paragraph("three", 2))

    assert [(chunk.text, chunk.document_page) for chunk in made] == [
        ("one\n\ntwo", 1),
        ("three", 2),
    ]


def test_joined_sections_show_their_headings_as_lines() -> None:
    (chunk,) = chunks_of(
        Heading(2, "Mail"), Paragraph("Write."), Heading(2, "Phone"), Paragraph("Call.")
    )

    assert chunk.text == "Mail\n\nWrite.\n\nPhone\n\nCall."
    assert chunk.section == ""
    assert chunk.breadcrumb == ("HR", "Pay", "Pay day")


def test_chunks_fit_the_embedder_with_their_breadcrumb() -> None:
    blocks: list[Block] = [
        Heading(2, "Steps"),
        Paragraph("word " * 3000),
        ItemList(("- x y z",) * 500),
    ]

    made = chunks_of(*blocks)

    sizes = [EMBEDDER.count_tokens(embedding_text(chunk)) for chunk in made]
    assert max(sizes) <= EMBEDDER.max_tokens
    assert sorted(sizes)[len(sizes) // 2] > 150


def test_a_crowded_breadcrumb_is_shortened_and_its_headings_are_told_in_the_text() -> None:
    blocks: list[Block] = [
        Heading(level, f"Heading {level} " + "very long words " * 6) for level in range(1, 7)
    ]

    (chunk,) = chunks_of(*blocks, Paragraph("Text."))

    assert EMBEDDER.count_tokens(" ".join(chunk.breadcrumb)) < 100
    told = chunk.text + " ".join(chunk.breadcrumb)
    assert all(f"Heading {level}" in told for level in range(1, 7))


def test_size_follows_the_embedder() -> None:
    class Large(WordEmbedder):
        max_tokens = 8192

    assert (chunk_sizes(EMBEDDER).target, chunk_sizes(EMBEDDER).most) == (200, 256)
    assert (chunk_sizes(Large()).target, chunk_sizes(Large()).most) == (400, 512)
    assert chunk_sizes(None).most == 256


def test_long_addresses_do_not_count_because_the_embedder_does_not_see_them() -> None:
    address = "https://docs.example.com/" + "a1-b2_c3/" * 5
    measure = chunk_sizes(EMBEDDER)

    assert measure.size(f"See {address} now") < 15


WORD = st.text(alphabet="abcdefgABCÄé1", min_size=1, max_size=9)
LINE = st.lists(WORD, min_size=1, max_size=60).map(" ".join)
SENTENCES = st.lists(LINE, min_size=1, max_size=6).map(". ".join)
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(Heading, st.integers(1, 6), LINE),
    st.builds(Paragraph, SENTENCES),
    st.builds(Quote, SENTENCES),
    st.builds(Code, st.lists(LINE, min_size=1, max_size=30).map("\n".join), st.just("sh")),
    st.builds(
        ItemList,
        st.lists(LINE.map("- {}".format), min_size=1, max_size=20).map(tuple),
    ),
    st.builds(
        Table,
        st.lists(WORD, min_size=2, max_size=2).map(tuple),
        st.lists(st.tuples(LINE, LINE), min_size=1, max_size=12).map(tuple),
    ),
)


@given(st.lists(BLOCKS, max_size=12))
def test_no_word_is_lost_and_no_chunk_is_too_long(blocks: list[Block]) -> None:
    made = chunks_of(*blocks)

    told = {word for c in made for word in tokens(f"{c.text} {' '.join(c.breadcrumb)}")}
    assert {word for block in blocks for word in tokens(markdown(block))} <= told
    assert all(EMBEDDER.count_tokens(embedding_text(c)) <= EMBEDDER.max_tokens for c in made)
    assert [c.ordinal for c in made] == list(range(len(made)))


@pytest.mark.parametrize("size", [2_000_000])
def test_a_huge_text_is_cut_in_reasonable_time(size: int) -> None:
    made = chunks_of(Paragraph("word " * (size // 5)))

    assert sum(len(tokens(chunk.text)) for chunk in made) == size // 5


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


LIMITS = Limits(target=20, most=26)


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


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Ask Mr. Smith, e.g. J. Doe. Then go.", ["Ask Mr. Smith, e.g. J. Doe.", "Then go."]),
        ("It costs 3.50 now. Pay.", ["It costs 3.50 now.", "Pay."]),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
        ("The answer is no. See No. 5. Go.", ["The answer is no.", "See No. 5.", "Go."]),
        ("See v2.1 of app.py. it stays whole", ["See v2.1 of app.py. it stays whole"]),
        ("line one\nline two", ["line one", "line two"]),
        ("完了。次へ！はい", ["完了。", "次へ！", "はい"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_says(text: str, parts: list[str]) -> None:
    assert [part.text for part in sentences(text)] == parts


@given(st.text(alphabet="ab.,;:! \n?A。", max_size=200), st.integers(1, 8))
def test_cutting_loses_and_invents_nothing(text: str, most: int) -> None:
    parts = cut(text, most, words)

    assert "".join("".join(p.joint + p.text for p in parts).split()) == "".join(text.split())


@given(st.lists(st.sampled_from(["word", "More.", "and,", "x"]), max_size=80), st.integers(1, 9))
def test_parts_are_never_larger_than_allowed(text: list[str], most: int) -> None:
    assert all(words(part.text) <= most for part in cut(" ".join(text), most, words))


def test_a_giant_word_is_cut_at_last() -> None:
    parts = cut("x" * 10_000, 10, lambda text: len(text) // 4)

    assert all(len(part.text) <= 43 for part in parts)
    assert "".join(part.text for part in parts) == "x" * 10_000

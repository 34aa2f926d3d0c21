from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion.chunking.chunker import PageLocation, chunk_document, chunk_id, chunk_sizes
from ingestion.documents.convert import convert
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
from tests.fakes import WordEmbedder

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


@settings(max_examples=60, deadline=None)
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

"""Stored pages as one reads them."""

from __future__ import annotations

from dataclasses import replace

from bot.web.chat.stored_pages import MAX_QUOTES, has_highlight, page_parts
from tests.builders import chunk

OVERLAP = "The last sentence of the first part is repeated. "


def test_an_overlap_between_two_parts_of_a_section_is_shown_once() -> None:
    first = chunk("One. " + OVERLAP.strip(), chunk_id="a", section="Setup")
    second = chunk(OVERLAP + "Two.", chunk_id="b", section="Setup", ordinal=1)

    parts = page_parts([first, second], chunk_id="", quotes=())

    assert "repeated" in parts[0].html
    assert "repeated" not in parts[1].html


def test_an_overlap_that_is_quoted_stays() -> None:
    first = chunk("One. " + OVERLAP.strip(), chunk_id="a", section="Setup")
    second = chunk(OVERLAP + "Two.", chunk_id="b", section="Setup", ordinal=1)

    parts = page_parts([first, second], chunk_id="b", quotes=[OVERLAP.strip()])

    assert "<mark" in parts[1].html


def test_a_heading_is_shown_once() -> None:
    parts = page_parts(
        [
            chunk("One.", chunk_id="a", section="Setup"),
            chunk("Two.", chunk_id="b", section="Setup"),
        ],
        chunk_id="",
        quotes=(),
    )

    assert [part.heading for part in parts] == ["Setup", ""]


def test_a_paged_document_shows_its_pages() -> None:
    pages = [replace(chunk(f"Text {n}.", chunk_id=str(n)), document_page=n) for n in (1, 2)]

    assert [part.heading for part in page_parts(pages, chunk_id="", quotes=())] == [
        "Page 1",
        "Page 2",
    ]


def test_an_empty_page_has_no_parts() -> None:
    assert page_parts([], chunk_id="", quotes=()) == ()


def test_a_quote_is_found_again_when_its_chunk_was_replaced() -> None:
    kept = chunk("Two. Call IT.", chunk_id="new", section="Setup", ordinal=1)

    parts = page_parts([chunk("One.", chunk_id="a"), kept], chunk_id="old", quotes=["Call IT."])

    assert "<mark" in parts[1].html
    assert has_highlight(parts)


def test_a_quote_that_is_no_longer_there_is_not_highlighted() -> None:
    parts = page_parts([chunk("One.", chunk_id="a")], chunk_id="a", quotes=["Two."])

    assert not has_highlight(parts)


def test_no_more_quotes_are_looked_for_than_an_answer_has() -> None:
    """An address has room for a thousand, and each is looked for in every line of a page."""
    found = page_parts([chunk("The last line.")], chunk_id="", quotes=["none of it"] * MAX_QUOTES)
    late = [*["none of it"] * MAX_QUOTES, "The last line."]

    assert not has_highlight(found)
    assert not has_highlight(page_parts([chunk("The last line.")], chunk_id="", quotes=late))

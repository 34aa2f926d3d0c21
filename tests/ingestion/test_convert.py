from __future__ import annotations

import pytest

from ingestion.documents.convert import convert, prettify
from ingestion.errors import PageUnreadable
from ingestion.types import Paragraph
from tests.ingestion.fakes import pdf, word


@pytest.mark.parametrize(
    ("page_id", "content", "title"),
    [
        ("a/vpn-set_up.md", b"Text", "Vpn set up"),
        ("vpn.md", b"# VPN set-up\n\nText", "VPN set-up"),
        ("vpn.md", b"---\ntitle: From above\n---\n# VPN\n", "From above"),
        ("vpn.md", b"## Not the page's\n\nText", "Vpn"),
        ("tools/README.md", b"Text", "Tools"),
        ("index.md", b"Text", "Index"),
        ("a.html", b"<title>T</title><h1>H</h1>", "H"),
        ("a.htm", b"<title>T</title><p>x</p>", "T"),
        ("a.txt", b"# no heading here", "A"),
        ("hand_book.pdf", pdf(("Text",)), "Hand book"),
        ("A.DOCX", word(("Title", "Expenses"), ("Normal", "x")), "Expenses"),
    ],
)
def test_the_title_is_the_best_that_there_is(page_id: str, content: bytes, title: str) -> None:
    assert convert(page_id, content).title == title


def test_plain_text_keeps_its_lines() -> None:
    document = convert("a.txt", b"one\r\n  two *as is*\r\n\r\n\r\nthree <b>\n")

    assert document.blocks == (Paragraph("one\n  two *as is*"), Paragraph("three <b>"))


def test_front_matter_of_plain_text_counts_too() -> None:
    document = convert("a.txt", b"---\ntitle: T\nlabels: [x]\n---\nText")

    assert (document.title, document.labels) == ("T", ("x",))


@pytest.mark.parametrize("extension", ["md", "mdx", "txt", "html", "htm"])
def test_empty_files_have_no_blocks(extension: str) -> None:
    assert convert(f"a.{extension}", b"").blocks == ()


@pytest.mark.parametrize("page_id", ["a.exe", "a", ".md.bak"])
def test_other_types_are_refused(page_id: str) -> None:
    with pytest.raises(PageUnreadable, match="type"):
        convert(page_id, b"x")


def test_a_huge_line_is_read() -> None:
    document = convert("a.md", b"word " * 200_000)

    assert len(document.blocks) == 1


def test_names_become_words() -> None:
    assert prettify("it_help-desk") == "It help desk"
    assert prettify("v1.2 notes") == "V1.2 notes"
    assert prettify("---") == "---"

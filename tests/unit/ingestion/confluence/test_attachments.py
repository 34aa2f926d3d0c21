"""Attachments are read as documents, within limits; CSV files as tables."""

from __future__ import annotations

import resource
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.confluence.attachments import AttachmentReader, csv_rows
from ingestion.errors import PageUnreadable
from ingestion.types import Block, Code, Document, Heading, Paragraph, Table
from tests.fakes.confluence.memory_wiki import SiteWiki
from tests.fakes.confluence.site import Site
from tests.fakes.ingestion import encrypted, pdf, word

MB = 1024 * 1024


async def read(name: str, content: bytes, *, size: int | None = None) -> Document:
    site = Site()
    site.add_space("IT")
    page = site.create("IT", "VPN")
    site.attach(page.id, name, content, size=size)
    wiki = SiteWiki(site)
    (attachment,) = await wiki.attachments(page.id)
    return await AttachmentReader(wiki, MB).read(attachment, ("howto",))


@pytest.mark.parametrize(
    ("name", "content", "blocks"),
    [
        (
            "Guide.PDF",
            pdf(["Install the client first."], ["Then restart it."]),
            (Paragraph("Install the client first.", 1), Paragraph("Then restart it.", 2)),
        ),
        (
            "guide.docx",
            word(("Heading 1", "Setup"), ("Normal", "Do it.")),
            (Heading(1, "Setup"), Paragraph("Do it.")),
        ),
        (
            "ports.csv",
            b"name;port\nvpn;443\nssh;22\n\n",
            (Table(("name", "port"), (("vpn", "443"), ("ssh", "22"))),),
        ),
        ("a.json", b'{"a": 1}\n', (Code('{"a": 1}', "json"),)),
        ("a.log", b"10:00 up\n10:01 down\n", (Code("10:00 up\n10:01 down"),)),
        (
            "a.html",
            b"<html><body><h1>VPN</h1><script>x()</script><p>Hi</p>",
            (Heading(1, "VPN"), Paragraph("Hi")),
        ),
    ],
    ids=["PDF", "Word", "CSV", "JSON", "log", "HTML"],
)
async def test_each_kind_of_file_is_read_as_what_it_is(
    name: str, content: bytes, blocks: tuple[Block, ...]
) -> None:
    assert (await read(name, content)).blocks == blocks


async def test_it_is_titled_by_its_name_and_carries_its_pages_labels() -> None:
    front = b"---\ntitle: Other\nurl: https://evil.example\nlabels: [x]\n---\nText.\n"
    document = await read("notes.md", front)

    assert (document.title, document.labels) == ("notes.md", ("howto",))
    assert document.blocks == (Paragraph("Text."),)


@pytest.mark.parametrize("name", ["../../x.txt", "..\\..\\x.txt", "/etc/passwd.txt", "a\0b.txt"])
async def test_a_name_with_a_path_is_only_a_title(name: str) -> None:
    document = await read(name, b"Some words of text.")

    assert document.blocks == (Paragraph("Some words of text."),)
    assert document.title == name.replace("\0", "")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        pytest.param("a.pdf", b"\x89PNG\r\n\x1a\n" + bytes(500), "no format", id="a picture"),
        pytest.param("a.docx", b"PK\x03\x04broken", "broken Word", id="a broken archive"),
        pytest.param("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "save it as .docx", id="old"),
        pytest.param("a.txt", b"  \n", "is empty", id="nothing in it"),
        pytest.param("a.pdf", b"%PDF-1.4 nonsense", "broken PDF", id="a broken PDF"),
        pytest.param("a.pdf", encrypted(pdf(["Secret"])), "without a password", id="encrypted"),
    ],
)
async def test_what_cannot_be_read_says_why(name: str, content: bytes, reason: str) -> None:
    with pytest.raises(PageUnreadable, match=reason):
        await read(name, content)


async def test_too_large_a_file_is_not_fetched() -> None:
    with pytest.raises(PageUnreadable, match="more than"):
        await read("a.txt", b"word ", size=MB + 1)


async def test_a_long_text_is_read_aside_where_it_takes_no_memory_of_the_run() -> None:
    paragraphs = b"para graph.\n\n" * 50_000
    began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    document = await read("long.md", paragraphs)

    assert document.blocks == (Paragraph("para graph."),) * 50_000
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime > began


async def test_a_table_without_end_is_left_out() -> None:
    site = Site()
    site.add_space("IT")
    page = site.create("IT", "VPN")
    site.attach(page.id, "a.csv", b"a,b,c\n" * 3_000_000)
    wiki = SiteWiki(site)
    (attachment,) = await wiki.attachments(page.id)

    with pytest.raises(PageUnreadable, match="more than 16 MB of text"):
        await AttachmentReader(wiki, 25 * MB).read(attachment, ())


async def test_a_few_wide_lines_make_no_table_of_all_that_follow() -> None:
    text = b"a," * 150 + b"b\n"
    document = await read("a.csv", text * 40 + b"c\n" * 20_000)

    assert isinstance(document.blocks[0], Code)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_the_one_that_makes_lines_alike(separator: str) -> None:
    text = f"name{separator}port\n\nvpn, ssl{separator} 443\n".replace(
        "vpn, ssl", '"vpn, ssl; or | not"'
    )

    assert csv_rows(text) == [("name", "port"), ("vpn, ssl; or | not", "443")]


def test_text_that_nothing_parts_is_no_table() -> None:
    assert csv_rows("one\ntwo\n") is None
    assert csv_rows("") is None
    assert csv_rows('a,b\n"' + "x" * 200_000 + '",c\n') is None


@pytest.mark.parametrize("piece", [',"b', ' "b', ',"b;"c\t"d|"e', ',"b\n', '"', '",'])
def test_no_text_is_thought_about_for_long(piece: str) -> None:
    begun = time.process_time()
    csv_rows((piece * 70_000)[:70_000])

    assert time.process_time() - begun < 1


@given(
    st.lists(
        st.lists(st.from_regex(r"[a-z]{1,4}", fullmatch=True), min_size=3, max_size=3),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from(",;\t|"),
)
def test_what_is_joined_is_parted(rows: list[list[str]], separator: str) -> None:
    text = "\n".join(separator.join(row) for row in rows)

    assert csv_rows(text) == [tuple(row) for row in rows]

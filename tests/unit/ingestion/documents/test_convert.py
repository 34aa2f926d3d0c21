"""The kind of a file is detected, and it is converted or checked in a process of its own."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from ingestion.documents.convert import CONVERTER, convert, file_kind, prettify, stored_name
from ingestion.documents.converter_process import MOST_TEXT, DocumentChecker, convert_in_subprocess
from ingestion.errors import DocumentRefused, PageUnreadable
from ingestion.types import Paragraph
from tests.fakes.ingestion import pdf, word

pytestmark = pytest.mark.attack


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


def zipped(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "name", "kept_as"),
    [
        (pdf(["Text"]), "a.pdf", "a.pdf"),
        (pdf(["Text"]), "A.PDF", "A.PDF"),
        (pdf(["Text"]), "a.md", "a.md.pdf"),
        (pdf(["Text"]), "a", "a.pdf"),
        (b"\n\n" + pdf(["Text"]), "a.pdf", "a.pdf"),
        (word(("Normal", "Text")), "a.docx", "a.docx"),
        (word(("Normal", "Text")), "a.zip", "a.zip.docx"),
        (b"# Title", "a.md", "a.md"),
        (b"# Title", "a.mdx", "a.mdx"),
        (b"# Title", "a.markdown", "a.markdown.md"),
        (b"Text", "notes", "notes.txt"),
        (b"Text", "v1.2", "v1.2.txt"),
        (b"Text", "a.pdf", "a.pdf.txt"),
        ("ü€".encode("cp1252"), "a.txt", "a.txt"),
        ("\ufeffText".encode("utf-16"), "a.txt", "a.txt"),
        (b"<!DOCTYPE html><p>x", "a.htm", "a.htm"),
        (b"  <!-- x --><html><p>x", "a.txt", "a.txt.html"),
        (b"<p>x</p>", "a.html", "a.html"),
        (b"no tag", "a.html", "a.html.txt"),
        (b"<p>HTML in Markdown</p>", "a.md", "a.md"),
    ],
)
def test_what_a_file_holds_decides(tmp_path: Path, content: bytes, name: str, kept_as: str) -> None:
    path = tmp_path / "incoming"
    path.write_bytes(content)

    assert stored_name(name, file_kind(path, name)) == kept_as


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "no format that can be read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "old Office format; save it as .docx"),
        (b"{\\rtf1 text}", "rich text"),
        (b"PK\x03\x04broken", "broken Word document"),
        (zipped("xl/workbook.xml"), "an Excel workbook; save it as PDF"),
        (zipped("ppt/presentation.xml"), "a PowerPoint file; save it as PDF"),
        (zipped("a.txt"), "an archive; unpack it"),
    ],
)
def test_what_can_not_be_read_is_refused_with_the_cure(
    tmp_path: Path, content: bytes, why: str
) -> None:
    path = tmp_path / "incoming"
    path.write_bytes(content)

    with pytest.raises(DocumentRefused, match=why):
        file_kind(path, "x.bin")


def test_a_character_cut_in_half_by_the_look_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "incoming"
    path.write_bytes(b"x" + "ü".encode() * 100_000)

    assert file_kind(path, "a") == ".txt"


async def test_a_document_is_the_one_that_converting_gives(tmp_path: Path) -> None:
    content = word(("Title", "T"), ("Heading 1", "A"), ("Normal", "b"), ("Quote", "c"))
    (tmp_path / "file").write_bytes(content)

    assert await convert_in_subprocess(tmp_path / "file", ".docx") == convert("x.docx", content)


async def test_markdown_keeps_every_kind_of_block(tmp_path: Path) -> None:
    content = b"# A\n\nb\n\n> c\n\n- d\n\n```sh\ne\n```\n\n| f | g |\n|---|---|\n| h | i |\n"
    (tmp_path / "file").write_bytes(content)

    assert await convert_in_subprocess(tmp_path / "file", ".md") == convert("x.md", content)


async def test_a_reason_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"%PDF-1.4 nonsense")

    with pytest.raises(PageUnreadable, match="broken PDF"):
        await convert_in_subprocess(tmp_path / "file", ".pdf")


async def test_what_takes_too_long_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(pdf(["words"]))

    with pytest.raises(PageUnreadable, match="too much time"):
        await convert_in_subprocess(tmp_path / "file", ".pdf", seconds=0.0)


async def test_a_small_file_that_holds_too_much_text_is_left_out(tmp_path: Path) -> None:
    paragraph = ("Normal", "All work and no play. " * 200_000)
    content = word(*[paragraph] * 4)
    (tmp_path / "file").write_bytes(content)

    assert len(content) < MOST_TEXT / 50
    with pytest.raises(PageUnreadable, match="holds more than 16 MB of text; split it"):
        await convert_in_subprocess(tmp_path / "file", ".docx")


PDF, TEXT = pdf(["Some text on a page"]), b"Some text"


def bomb() -> bytes:
    """A Word document of about a megabyte that unpacks to 300 MB."""
    stream = io.BytesIO(word(("Normal", "Text")))
    with (
        zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("word/media/zeros.bin", "w") as member,
    ):
        for _ in range(300):
            member.write(bytes(1024**2))
    return stream.getvalue()


async def check(tmp_path: Path, content: bytes, kind: str, **options: float) -> None:
    path = tmp_path / "incoming"
    path.write_bytes(content)
    await DocumentChecker(**options).check(path, kind, "x")


@pytest.mark.parametrize(("content", "kind"), [(PDF, ".pdf"), (TEXT, ".md")])
async def test_what_can_be_read_passes(tmp_path: Path, content: bytes, kind: str) -> None:
    await check(tmp_path, content, kind)


@pytest.mark.parametrize(
    ("content", "kind", "why"),
    [
        (b"%PDF-1.4 broken", ".pdf", "'x' is a broken PDF"),
        (PDF.replace(b"Some text on a page", b""), ".pdf", "no text"),
        (b"---\ntitle: only\n---\n", ".md", "holds no text"),
    ],
    ids=["broken", "pictures", "empty"],
)
async def test_what_can_not_is_refused(tmp_path: Path, content: bytes, kind: str, why: str) -> None:
    with pytest.raises(DocumentRefused, match=why):
        await check(tmp_path, content, kind)


async def test_what_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match="more than 200 MB"):
        await check(tmp_path, bomb(), ".docx")


async def test_what_takes_too_long_is_refused_and_ended(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match="too much time"):
        await check(tmp_path, TEXT, ".txt", seconds=0)


def test_the_converter_counts_up_when_the_same_bytes_yield_other_blocks() -> None:
    html = (
        "<h1>VPN</h1><p>Install <b>it</b><span style='color:#fff'>x</span>.</p><ul><li>a<li>b</ul>"
        "<table><tr><th>Who<th>What<tr><td rowspan=2>HR<td>Pay<tr><td>Leave</table><pre>a = 1</pre>"
        "<p style='color:#fff'>white<b style='color:#000'>black</b></p>"
    )
    files = {"a.html": html, "a.md": "# VPN\n\n- a\n- b\n\n|a|b|\n|-|-|\n|1|2|\n\n> c"}
    blocks = [convert(name, content.encode()).blocks for name, content in files.items()]

    # Another digest needs another version, or what was indexed before stays as it is.
    assert (CONVERTER, hashlib.sha256(repr(blocks).encode()).hexdigest()[:12]) == (
        3,
        "eba920f5af23",
    )

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from ingestion.documents.convert import file_kind, stored_name
from ingestion.errors import DocumentRefused
from tests.ingestion.fakes import pdf, word


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
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "no kind that can be read"),
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

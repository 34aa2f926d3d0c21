"""What a file holds, told by its first bytes; its name only decides between kinds of text."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path, PurePosixPath

from ingestion.convert import EXTENSIONS
from ingestion.errors import DocumentRefused, PageUnreadable
from ingestion.text import decode

READ = "Markdown, text, HTML, PDF and Word (.docx)"
_HEAD = 65536
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = b"PK\x03\x04"
_RTF = b"{\\rtf"
_HTML = re.compile(
    r"\A\s*(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(r"<(?:!doctype|[a-z][a-z0-9]*)\b[^<>]*>", re.IGNORECASE)
_OFFICE = {"xl/workbook.xml": "an Excel workbook", "ppt/presentation.xml": "a PowerPoint file"}
_SAME = {".htm": ".html", ".mdx": ".md", ".markdown": ".md"}


def kind_of(path: Path, name: str) -> str:
    """Return the ending that says what a file holds: .pdf, .docx, .html, .md, .mdx or .txt.

    Raises:
        DocumentRefused: it holds nothing that can be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if b"%PDF-" in head[:1024]:
        return ".pdf"
    if head.startswith(_ZIP):
        return _kind_of_zip(path, name)
    if head.startswith(_OLD_OFFICE):
        raise _refused(name, "is encrypted or in an old Office format; save it as .docx")
    if head.startswith(_RTF):
        raise _refused(name, "is rich text (RTF); save it as .docx")
    return _kind_of_text(head, name)


def stored_name(name: str, kind: str) -> str:
    """Return the name with an ending that fits what the file holds."""
    ending = PurePosixPath(name).suffix.lower()
    if ending in EXTENSIONS and _SAME.get(ending, ending) == _SAME.get(kind, kind):
        return name
    return f"{name}{kind}"


def _kind_of_zip(path: Path, name: str) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            members = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise _refused(name, "is a broken Word document or archive; save it again") from error
    if "word/document.xml" in members:
        return ".docx"
    for member, what in _OFFICE.items():
        if member in members:
            raise _refused(name, f"is {what}; save it as PDF")
    raise _refused(name, "is an archive; unpack it and upload the documents in it")


def _kind_of_text(head: bytes, name: str) -> str:
    html = PurePosixPath(name).suffix.lower() in {".html", ".htm"}
    try:
        # The last bytes may be half a character.
        text = decode(head if len(head) < _HEAD else head[:-4], html=html).text
    except PageUnreadable as error:
        raise _refused(name, f"is of no kind that can be read ({READ} are)") from error
    if not text.strip():
        raise _refused(name, "is empty; upload a document with text")
    if _HTML.match(text) or (html and _TAG.search(text)):
        return ".html"
    ending = PurePosixPath(name).suffix.lower()
    return {".mdx": ".mdx", ".md": ".md", ".markdown": ".md"}.get(ending, ".txt")


def _refused(name: str, why: str) -> DocumentRefused:
    return DocumentRefused(f"{name!r} {why}.")

"""Detect a file's type, and convert it to a Document.

The type is detected from the first bytes; the name only decides between kinds of text. Pure, except
for a log line.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

import structlog

from ingestion.documents.front_matter import FrontMatter, split_front_matter
from ingestion.errors import DocumentRefused, PageUnreadable
from ingestion.text import clean, decode
from ingestion.types import Block, Document, Heading, Paragraph

log = structlog.get_logger(__name__)

TEXT_EXTENSIONS = frozenset({".md", ".mdx", ".txt", ".html", ".htm"})
EXTENSIONS = TEXT_EXTENSIONS | {".pdf", ".docx"}
_INDEX_NAMES = frozenset({"index", "_index", "readme"})
CONVERTER = 3
"""Incremented whenever the same bytes yield different blocks, so that pages are converted again."""


def convert(page_id: str, content: bytes) -> Document:
    """Return the document in a file.

    Args:
        page_id: the file's path; its extension gives the format, its name is the fallback title.
        content: the file's bytes.

    Raises:
        PageUnreadable: with a reason fit for the report.
    """
    extension = PurePosixPath(page_id).suffix.lower()
    if extension not in _FORMATS:
        raise PageUnreadable(f"is of no type that can be read ({extension!r})")
    try:
        document = _FORMATS[extension](content)
    except PageUnreadable:
        raise
    except RecursionError as error:
        raise PageUnreadable("is nested too deeply") from error
    except Exception as error:  # parsers fail on hostile files with undeclared exceptions
        log.warning("page.not_converted", page=page_id, error=type(error).__name__)
        raise PageUnreadable("cannot be read: it is damaged; save it again") from error
    return replace(document, title=document.title or _first_heading(document) or _name(page_id))


def front_matter(page_id: str, content: bytes) -> tuple[FrontMatter, tuple[str, ...]]:
    """Return a text file's front matter, and notes about its encoding.

    Raises:
        PageUnreadable: the bytes are not text.
    """
    decoded = decode(content, html=_is_named_html(page_id))
    return split_front_matter(decoded.text), decoded.notes


def prettify(path: str) -> str:
    """Return a file's or folder's name as words: ``vpn-set_up.md`` becomes "Vpn set up"."""
    name = PurePosixPath(path)
    stem = name.stem if name.suffix.lower() in EXTENSIONS else name.name
    words = " ".join(re.sub(r"[-_]+", " ", clean(stem)).split())
    return words[:1].upper() + words[1:] if words else path


def is_index(page_id: str) -> bool:
    """Return whether a file is the page of its folder (``index.md``, ``README.md``)."""
    path = PurePosixPath(page_id)
    return path.suffix.lower() in TEXT_EXTENSIONS and path.stem.lower() in _INDEX_NAMES


def _name(page_id: str) -> str:
    folder = PurePosixPath(page_id).parent
    return prettify(str(folder) if is_index(page_id) and folder.name else page_id)


def _first_heading(document: Document) -> str:
    """Return the heading that titles the whole page: level 1 and above all others."""
    first = next((block for block in document.blocks if isinstance(block, Heading)), None)
    return first.text if first and first.level == 1 and first.page is None else ""


def _text(content: bytes, name: str, read: Callable[[str], tuple[Block, ...]]) -> Document:
    head, notes = front_matter(name, content)
    return Document(
        title=head.title or "",
        blocks=read(head.body),
        labels=head.labels,
        updated_at=head.updated_at,
        updated_by=head.updated_by,
        notes=(*notes, *head.notes),
    )


def _markdown(content: bytes) -> Document:
    from ingestion.documents.convert_markdown import markdown_blocks

    return _text(content, ".md", markdown_blocks)


def _mdx(content: bytes) -> Document:
    from ingestion.documents.convert_markdown import markdown_blocks

    return _text(content, ".mdx", lambda body: markdown_blocks(body, mdx=True))


def _html(content: bytes) -> Document:
    from ingestion.documents.convert_html import blocks_of, page_title

    document = _text(content, ".html", blocks_of)
    if document.title or _first_heading(document):
        return document
    head, _ = front_matter(".html", content)
    return replace(document, title=page_title(head.body) or "")


def _plain(content: bytes) -> Document:
    return _text(content, ".txt", _paragraphs)


def _paragraphs(body: str) -> tuple[Block, ...]:
    parts = re.split(r"\n[ \t]*\n", clean(body))
    lines = (["\n".join(line.rstrip() for line in part.split("\n")).strip("\n")] for part in parts)
    return tuple(Paragraph(text) for (text,) in lines if text.strip())


def _pdf(content: bytes) -> Document:
    from ingestion.documents.convert_pdf import pdf_document

    return pdf_document(content)


def _docx(content: bytes) -> Document:
    from ingestion.documents.convert_docx import docx_document

    return docx_document(content)


_FORMATS: dict[str, Callable[[bytes], Document]] = {
    ".md": _markdown,
    ".mdx": _mdx,
    ".txt": _plain,
    ".html": _html,
    ".htm": _html,
    ".pdf": _pdf,
    ".docx": _docx,
}


READABLE_KINDS = "Markdown, text, HTML, PDF and Word (.docx)"
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


def file_kind(path: Path, name: str, *, declared: bool = False) -> str:
    """Return the extension of a file's actual type: .pdf, .docx, .html, .md, .mdx or .txt.

    Args:
        path: where the file is.
        name: its name, which decides between kinds of text.
        declared: the sender gave text, and the name has the extension of its format; that one is
            returned where the file is text at all.

    Raises:
        DocumentRefused: the file is of no readable type.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if declared:
        _text_of(head, name)
        return PurePosixPath(name).suffix.lower()
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
    """Return the name with the extension of the file's actual type."""
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
    text = _text_of(head, name)
    if _HTML.match(text) or (_is_named_html(name) and _TAG.search(text)):
        return ".html"
    ending = PurePosixPath(name).suffix.lower()
    return {".mdx": ".mdx", ".md": ".md", ".markdown": ".md"}.get(ending, ".txt")


def _text_of(head: bytes, name: str) -> str:
    """Return the first bytes as text. Raises DocumentRefused where they are none."""
    try:
        # The last bytes may be an incomplete character.
        text = decode(head if len(head) < _HEAD else head[:-4], html=_is_named_html(name)).text
    except PageUnreadable as error:
        raise _refused(name, f"is of no format that can be read ({READABLE_KINDS} are)") from error
    if not text.strip():
        raise _refused(name, "is empty; upload a document with text")
    return text


def _is_named_html(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in {".html", ".htm"}


def _refused(name: str, why: str) -> DocumentRefused:
    return DocumentRefused(f"{name!r} {why}.")

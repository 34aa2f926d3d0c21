"""One file to a Document, by its extension. Pure, but for a line in the log."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath

import structlog

from ingestion.convert_docx import docx_document
from ingestion.convert_html import blocks_of, page_title
from ingestion.convert_markdown import markdown_blocks
from ingestion.convert_pdf import pdf_document
from ingestion.errors import PageUnreadable
from ingestion.front_matter import FrontMatter, split_front_matter
from ingestion.text import clean, decode
from ingestion.types import Block, Document, Heading, Paragraph

log = structlog.get_logger(__name__)

TEXT_EXTENSIONS = frozenset({".md", ".mdx", ".txt", ".html", ".htm"})
EXTENSIONS = TEXT_EXTENSIONS | {".pdf", ".docx"}
_INDEX_NAMES = frozenset({"index", "_index", "readme"})
CONVERTER = 2
"""Counts up whenever the same bytes give other blocks, so that pages are converted again."""


def convert(page_id: str, content: bytes) -> Document:
    """Return the document in a file.

    Args:
        page_id: the file's path; its ending says the format, its name stands in for a title.
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
    except Exception as error:  # parsers fail on hostile files in ways they do not declare
        log.warning("page.not_converted", page=page_id, error=type(error).__name__)
        raise PageUnreadable("cannot be read: it is damaged; save it again") from error
    return replace(document, title=document.title or _first_heading(document) or _name(page_id))


def front_matter(page_id: str, content: bytes) -> tuple[FrontMatter, tuple[str, ...]]:
    """Return a text file's front matter and what was odd about its bytes.

    Raises:
        PageUnreadable: the bytes are no text.
    """
    html = PurePosixPath(page_id).suffix.lower() in {".html", ".htm"}
    decoded = decode(content, html=html)
    return split_front_matter(decoded.text), decoded.notes


def prettify(path: str) -> str:
    """Return a file's or folder's name as words: ``vpn-set_up.md`` is "Vpn set up"."""
    name = PurePosixPath(path)
    stem = name.stem if name.suffix.lower() in EXTENSIONS else name.name
    words = " ".join(re.sub(r"[-_]+", " ", clean(stem)).split())
    return words[:1].upper() + words[1:] if words else path


def is_index(page_id: str) -> bool:
    """Whether a file is the page of its folder (``index.md``, ``README.md``)."""
    path = PurePosixPath(page_id)
    return path.suffix.lower() in TEXT_EXTENSIONS and path.stem.lower() in _INDEX_NAMES


def _name(page_id: str) -> str:
    folder = PurePosixPath(page_id).parent
    return prettify(str(folder) if is_index(page_id) and folder.name else page_id)


def _first_heading(document: Document) -> str:
    """Return the heading that titles the whole page: of level 1 and above all others."""
    first = next((block for block in document.blocks if isinstance(block, Heading)), None)
    return first.text if first and first.level == 1 and first.page is None else ""


def _text(content: bytes, name: str, read: Callable[[str], tuple[Block, ...]]) -> Document:
    head, notes = front_matter(name, content)
    return Document(
        title=head.title or "",
        blocks=read(head.body),
        labels=head.labels,
        updated_at=head.updated_at,
        notes=(*notes, *head.notes),
    )


def _markdown(content: bytes) -> Document:
    return _text(content, ".md", markdown_blocks)


def _mdx(content: bytes) -> Document:
    return _text(content, ".mdx", lambda body: markdown_blocks(body, mdx=True))


def _html(content: bytes) -> Document:
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


_FORMATS: dict[str, Callable[[bytes], Document]] = {
    ".md": _markdown,
    ".mdx": _mdx,
    ".txt": _plain,
    ".html": _html,
    ".htm": _html,
    ".pdf": pdf_document,
    ".docx": docx_document,
}

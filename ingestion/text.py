"""Decode bytes to clean text, and render blocks as the Markdown that chunks hold. Pure.

Text is cleaned of control and invisible characters, and each line end becomes one newline.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.errors import PageUnreadable
from ingestion.types import Block, Code, ItemList, Table

_GZIP = b"\x1f\x8b"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_-]{2,30})", re.IGNORECASE)
_LINE_ENDS = re.compile("\r\n?|\x0b|\x0c|\x85|\u2028|\u2029")
# Invisible characters: controls, soft hyphen, zero width, direction overrides, tag characters.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069"
    "\ufdd0-\ufdef\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_BINARY = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd]")
_SAMPLE = 65536
_LEAST_BINARY = 4
_BINARY_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's decoded text, and notes about its encoding."""

    text: str
    notes: tuple[str, ...] = ()


def decode(content: bytes, *, html: bool = False) -> Decoded:
    """Return a file's text with every line end as one newline.

    A byte order mark has precedence, then UTF-8, then (``html``) the declared charset, then cp1252.

    Raises:
        PageUnreadable: the bytes are not text.
    """
    if content.startswith(_GZIP):
        raise PageUnreadable("is compressed; unpack it")
    text, notes = _characters(content, html=html)
    sample = text[:_SAMPLE]
    odd = len(_BINARY.findall(sample))
    if odd > max(_LEAST_BINARY, len(sample) * _BINARY_SHARE):
        raise PageUnreadable("does not look like text; save it as UTF-8")
    if "\x00" in text:
        notes.append("NUL bytes were left out")
    return Decoded(_LINE_ENDS.sub("\n", text), tuple(notes))


def clean(text: str) -> str:
    """Return normalised text as in chunks: NFC, no invisible or control characters."""
    if text.isascii() and text.isprintable():
        return text
    text = _SPACES.sub(" ", _INVISIBLE.sub("", text))
    return unicodedata.normalize("NFC", text)


def without_half_surrogates(text: str) -> str:
    """Join pairs of surrogates, and replace lone ones, which no encoding takes, such as U+D835."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _characters(content: bytes, *, html: bool) -> tuple[str, list[str]]:
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return _with_mark(content, encoding, mark)
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError:
        return _without_utf8(content, html=html)


def _with_mark(content: bytes, encoding: str, mark: bytes) -> tuple[str, list[str]]:
    content = content[len(mark) :] if encoding == "utf-8" else content
    try:
        return content.decode(encoding), []
    except UnicodeDecodeError:
        note = f"broken {encoding.upper()}; unreadable characters were replaced"
        return content.decode(encoding, errors="replace"), [note]


def _without_utf8(content: bytes, *, html: bool) -> tuple[str, list[str]]:
    declared = _CHARSET.search(content[:4096]) if html else None
    if declared:
        try:
            return content.decode(declared.group(1).decode("ascii")), []
        except (LookupError, UnicodeDecodeError):
            pass
    note = "not UTF-8; read as Windows-1252"
    return content.decode("cp1252", errors="replace"), [note]


_FENCES = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)


def markdown(block: Block) -> str:
    """Return a block's text as Markdown, as a chunk contains it."""
    if isinstance(block, ItemList):
        return "\n".join(block.items)
    if isinstance(block, Table):
        return "\n".join((*header_lines(block), *(row_line(row) for row in block.rows)))
    if isinstance(block, Code):
        fence = code_fence(block)
        return f"{fence}{block.language}\n{block.text}\n{fence}"
    return block.text


def header_lines(table: Table) -> tuple[str, ...]:
    """Return the header row and the rule below it, or nothing without a header."""
    if not table.header:
        return ()
    return row_line(table.header), "| " + " | ".join("---" for _ in table.header) + " |"


def row_line(cells: Sequence[str]) -> str:
    """Return one row as a Markdown table row."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def code_fence(code: Code) -> str:
    """Return a fence longer than any in the code."""
    longest = max((len(fence) for fence in _FENCES.findall(code.text)), default=2)
    return "`" * max(3, longest + 1)

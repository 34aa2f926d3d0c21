"""Convert Word documents to blocks: headings, lists with their numbering, tables, links.

Deleted and hidden text is left out; list markers are computed as Word does.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC
from string import ascii_lowercase

import docx
from docx.document import Document as Word
from docx.opc.exceptions import OpcError
from docx.oxml.ns import qn
from lxml import etree

from ingestion.documents.html_elements import link, tidy
from ingestion.errors import PageUnreadable
from ingestion.types import Block, Code, Document, Heading, ItemList, Paragraph, Quote, Table

_STYLE = re.compile(r"List (Bullet|Number)(?: (\d))?")


class Numbering:
    """Computes the marker of each list paragraph, in document order."""

    def __init__(self, word: Word) -> None:
        self._formats: dict[tuple[str, int], str] = {}
        self._style_lists: dict[str, tuple[str, int]] = {}
        self._counts: dict[tuple[str, int], int] = {}
        self._read_formats(word)
        for style in word.styles.element.iter(qn("w:style")):
            number = _number(style)
            if number:
                self._style_lists[style.get(qn("w:styleId")) or ""] = number

    def marker(self, paragraph: etree._Element, style_id: str, style: str) -> tuple[str, int]:
        """Return the marker ("-", "3.", "b.") and nesting level, or ("", 0) outside lists."""
        number = _number(paragraph) or self._style_lists.get(style_id)
        named = _STYLE.fullmatch(style)
        if number is None or number[0] == "0":
            return ("-", int(named[2] or 1) - 1) if named else ("", 0)
        level = number[1]
        if named and named[2]:
            level = max(level, int(named[2]) - 1)
        kind = self._formats.get(number) or ("decimal" if named and named[1] == "Number" else "")
        return self._next(number, kind), level

    def _next(self, number: tuple[str, int], kind: str) -> str:
        name, level = number
        for deeper in [key for key in self._counts if key[0] == name and key[1] > level]:
            del self._counts[deeper]
        count = self._counts[number] = self._counts.get(number, 0) + 1
        if kind in {"", "bullet", "none"}:
            return "-"
        if kind == "lowerLetter":
            return f"{ascii_lowercase[(count - 1) % 26]}."
        if kind == "upperLetter":
            return f"{ascii_lowercase[(count - 1) % 26].upper()}."
        return f"{count}."

    def _read_formats(self, word: Word) -> None:
        root = next(
            (
                relation.target_part.element
                for relation in word.part.rels.values()
                if relation.reltype.endswith("/numbering") and not relation.is_external
            ),
            None,
        )
        if root is None:
            return
        abstract = {
            each.get(qn("w:abstractNumId")): _levels(each)
            for each in root.iter(qn("w:abstractNum"))
        }
        for number in root.iter(qn("w:num")):
            chosen = number.find(qn("w:abstractNumId"))
            levels = abstract.get(chosen.get(qn("w:val")), {}) if chosen is not None else {}
            for level, kind in levels.items():
                self._formats[(number.get(qn("w:numId")) or "", level)] = kind


def _levels(abstract: etree._Element) -> dict[int, str]:
    levels: dict[int, str] = {}
    for level in abstract.iter(qn("w:lvl")):
        kind = level.find(qn("w:numFmt"))
        levels[int(level.get(qn("w:ilvl")) or 0)] = (
            (kind.get(qn("w:val")) or "") if kind is not None else ""
        )
    return levels


def _number(element: etree._Element) -> tuple[str, int] | None:
    properties = element.find(f"{qn('w:pPr')}/{qn('w:numPr')}")
    if properties is None:
        return None
    name, level = properties.find(qn("w:numId")), properties.find(qn("w:ilvl"))
    depth = (level.get(qn("w:val")) or "0") if level is not None else "0"
    return (
        (name.get(qn("w:val")) or "0") if name is not None else "0",
        int(depth) if depth.isdecimal() else 0,
    )


_LARGEST = 200 * 1024 * 1024
_SKIPPED = frozenset(
    {
        *(qn(tag) for tag in ("w:del", "w:moveFrom", "w:instrText", "w:delText")),
        "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    }
)
_NOT_RUNNING = _SKIPPED | {qn("w:txbxContent"), qn("w:pPr"), qn("w:rPr")}
_MARKS = {qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:tab"): "\t", qn("w:noBreakHyphen"): "-"}
_DEEPEST_OUTLINE = 5
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_CODE = re.compile(r"code|preformatted|source|verbatim", re.IGNORECASE)
_QUOTE = re.compile(r"quote", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """One paragraph: its text, the English name of its style, its list level and marker."""

    text: str
    style: str
    outline: int | None
    marker: str
    level: int


def docx_document(content: bytes) -> Document:
    """Return the text of a Word document; ``title`` is "" where the file has none.

    Raises:
        PageUnreadable: encrypted, broken, or no Word document.
    """
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise PageUnreadable("is encrypted or in the old .doc format; save it as .docx")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > _LARGEST:
                raise PageUnreadable("unpacks to more than 200 MB")
        word = docx.Document(io.BytesIO(content))
        title, blocks = _read(word)
    except (OpcError, zipfile.BadZipFile, KeyError, ValueError, etree.XMLSyntaxError) as error:
        raise PageUnreadable("is a broken Word document; save it again as .docx") from error
    modified = word.core_properties.modified
    updated = modified.replace(tzinfo=UTC) if modified and not modified.tzinfo else modified
    return Document(title or _usable(word.core_properties.title), blocks, updated_at=updated)


def _usable(title: str) -> str:
    return "" if re.search(r"^(?:Microsoft Word -|Word Document$)", title) else tidy(title)


def _read(word: Word) -> tuple[str, tuple[Block, ...]]:
    reading = _Reading(word)
    title, parts = "", list[Block | _Paragraph]()
    for part in reading.parts(word.element.body):
        if isinstance(part, _Paragraph) and part.style == "Title" and not title:
            title = part.text
        else:
            parts.append(part)
    return title, tuple(_blocks(parts))


class _Reading:
    """Walks one document with its styles, links and numbering."""

    def __init__(self, word: Word) -> None:
        self._links = {key: rel.target_ref for key, rel in word.part.rels.items()}
        self._styles = {style.style_id: style.name or "" for style in word.styles}
        self._numbering = Numbering(word)

    def parts(self, container: etree._Element) -> Iterator[Block | _Paragraph]:
        """Yield paragraphs and tables in order, including those in content controls."""
        for child in container:
            if child.tag == qn("w:p"):
                yield from self._paragraph(child)
            elif child.tag == qn("w:tbl"):
                yield from self._table(child)
            elif child.tag not in _SKIPPED:
                yield from self.parts(child)

    def _paragraph(self, element: etree._Element) -> Iterator[Block | _Paragraph]:
        style_id = _value(element, "w:pPr/w:pStyle") or ""
        style = self._styles.get(style_id, "Normal")
        if style.lower().startswith(("toc ", "table of figures")):
            return
        raw = "".join(self._texts(element))
        text = raw.rstrip() if _CODE.search(style) else tidy(raw)
        if text:
            outline = _value(element, "w:pPr/w:outlineLvl")
            marker, level = self._numbering.marker(element, style_id, style)
            level_of_outline = int(outline) if outline and outline.isdecimal() else None
            yield _Paragraph(text, style, level_of_outline, marker, level)
        for box in element.iter(qn("w:txbxContent")):
            if not any(parent.tag in _SKIPPED for parent in box.iterancestors()):
                yield from self.parts(box)

    def _texts(self, element: etree._Element) -> Iterator[str]:
        """Yield the visible text of a paragraph, without text boxes."""
        for child in element:
            if child.tag in _NOT_RUNNING or _vanishes(child):
                continue
            if child.tag == qn("w:t"):
                yield child.text or ""
            elif child.tag in _MARKS:
                yield _MARKS[child.tag]
            elif child.tag == qn("w:hyperlink"):
                target = self._links.get(child.get(qn("r:id")) or "", "")
                yield link("".join(self._texts(child)), str(target))
            else:
                yield from self._texts(child)

    def _table(self, element: etree._Element) -> Iterator[Block]:
        rows = [self._row(row) for row in element.iter(qn("w:tr")) if _owner(row) is element]
        rows = [row for row in rows if any(row)]
        if not rows:
            return
        width = max(len(row) for row in rows)
        padded = [(*row, *([""] * (width - len(row)))) for row in rows]
        if len(padded) == 1 and width == 1:
            yield Paragraph(padded[0][0])
        else:
            yield Table(padded[0], tuple(padded[1:]))

    def _row(self, row: etree._Element) -> tuple[str, ...]:
        texts: list[str] = []
        for cell in row.iter(qn("w:tc")):
            if next(cell.iterancestors(qn("w:tr")), None) is not row:
                continue
            texts.append(self._cell(cell))
            span = _value(cell, "w:tcPr/w:gridSpan") or "1"
            texts += [""] * (min(int(span), 60) - 1 if span.isdecimal() else 0)
        return tuple(texts)

    def _cell(self, cell: etree._Element) -> str:
        texts = (
            " ".join(tidy("".join(self._texts(paragraph))).split())
            for paragraph in cell.iter(qn("w:p"))
        )
        return " ".join(text for text in texts if text)


def _blocks(parts: list[Block | _Paragraph]) -> Iterable[Block]:
    """Convert paragraphs to blocks, joining neighbouring list items and code lines."""
    waiting: list[str] = []
    kind: type[ItemList | Code] = ItemList
    for part in parts:
        joins = _joins(part)
        if waiting and joins is not kind:
            yield _joined(kind, waiting)
            waiting = []
        if isinstance(part, _Paragraph) and joins is not None:
            kind = joins
            waiting.append(_item(part) if joins is ItemList else part.text)
        else:
            yield _single(part) if isinstance(part, _Paragraph) else part
    if waiting:
        yield _joined(kind, waiting)


def _joins(part: Block | _Paragraph) -> type[ItemList | Code] | None:
    if not isinstance(part, _Paragraph) or _heading_level(part):
        return None
    if part.marker:
        return ItemList
    return Code if _CODE.search(part.style) else None


def _joined(kind: type[ItemList | Code], texts: list[str]) -> Block:
    if kind is Code:
        return Code("\n".join(texts))
    items: list[str] = []
    for text in texts:
        if items and text.startswith(" "):
            items[-1] += "\n" + text
        else:
            items.append(text)
    return ItemList(tuple(items))


def _item(part: _Paragraph) -> str:
    indent = "  " * part.level
    return f"{indent}{part.marker} " + part.text.replace("\n", f"\n{indent}  ")


def _single(part: _Paragraph) -> Block:
    level = _heading_level(part)
    if level:
        return Heading(level, " ".join(part.text.split()))
    return Quote(part.text) if _QUOTE.search(part.style) else Paragraph(part.text)


def _heading_level(part: _Paragraph) -> int | None:
    named = _HEADING.fullmatch(part.style)
    if named:
        return min(int(named[1]), 6)
    if part.style == "Title":
        return 1
    return (
        part.outline + 1 if part.outline is not None and part.outline <= _DEEPEST_OUTLINE else None
    )


def _vanishes(run: etree._Element) -> bool:
    vanish = run.find(f"{qn('w:rPr')}/{qn('w:vanish')}")
    return vanish is not None and vanish.get(qn("w:val")) not in {"0", "false"}


def _owner(row: etree._Element) -> etree._Element | None:
    return next(row.iterancestors(qn("w:tbl")), None)


def _value(element: etree._Element, path: str) -> str | None:
    found = element.find("/".join(qn(step) for step in path.split("/")))
    return None if found is None else found.get(qn("w:val"))

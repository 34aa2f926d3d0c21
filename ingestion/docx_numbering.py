"""List markers of a Word document, counted as Word counts them."""

from __future__ import annotations

import re
from string import ascii_lowercase

from docx.document import Document as Word
from docx.oxml.ns import qn
from lxml import etree

_STYLE = re.compile(r"List (Bullet|Number)(?: (\d))?")


class Numbering:
    """Gives each list paragraph its marker, in document order."""

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

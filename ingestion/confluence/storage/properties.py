"""Page properties: tables of a name and its value, as lines "name: value". Pure."""

from __future__ import annotations

from lxml import etree

from ingestion.confluence.storage.elements import body, children_named
from ingestion.confluence.storage.writer import Writer

_PARTS = ("thead", "tbody", "tfoot")
_PAIR = 2


def details(macro: etree._Element, out: Writer) -> None:
    """Write the macro's body, its tables of properties as lists of them."""
    found = body(macro)
    if found is None:
        return
    out.text(found.text)
    for child in found:
        pairs = _pairs(child) if child.tag == "table" else []
        if pairs:
            _listed(pairs, out)
        else:
            out.write(child)
        out.text(child.tail)


def _listed(pairs: list[tuple[etree._Element, etree._Element]], out: Writer) -> None:
    with out.element("dl"):
        for name, value in pairs:
            with out.element("dt"):
                out.inside(name)
            with out.element("dd"):
                out.inside(value)


def _pairs(table: etree._Element) -> list[tuple[etree._Element, etree._Element]]:
    """Return names and values, written in rows or in columns; nothing for any other table."""
    rows = [_cells(row) for row in _rows(table)]
    if rows and all(len(row) == _PAIR and row[0].tag == "th" != row[1].tag for row in rows):
        return [(row[0], row[1]) for row in rows]
    if len(rows) == _PAIR and _are_names(rows[0]) and len(rows[0]) == len(rows[1]):
        return list(zip(*rows, strict=True))
    return []


def _are_names(row: list[etree._Element]) -> bool:
    return bool(row) and all(cell.tag == "th" for cell in row)


def _rows(table: etree._Element) -> list[etree._Element]:
    parts = [table, *children_named(table, *_PARTS)]
    return [row for part in parts for row in children_named(part, "tr")]


def _cells(row: etree._Element) -> list[etree._Element]:
    return list(children_named(row, "td", "th"))

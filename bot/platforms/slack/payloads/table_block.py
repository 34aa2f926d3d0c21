"""Build Slack's table block from a table. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bot.domain.markdown import plain_code
from rag.parts import Table

MOST_TABLE_ROWS, MOST_TABLE_COLUMNS, MOST_TABLE_TEXT = 100, 20, 10_000
"""Slack's limits of a table block: rows, cells in a row, and characters over all cells."""

_STYLED = re.compile(r"\*\*(?=\S)(?P<bold>.{1,1000}?)(?<=\S)\*\*|`(?P<code>[^`\n]+)`")


def is_within_table_limits(table: Table) -> bool:
    """Return whether Slack takes a table as a block."""
    lines = table.lines
    size = sum(max(1, len(cell)) for line in lines for cell in line)
    return (
        0 < len(lines) <= MOST_TABLE_ROWS
        and len(lines[0]) <= MOST_TABLE_COLUMNS
        and size <= MOST_TABLE_TEXT
    )


def table_block(table: Table) -> Mapping[str, object]:
    """Return a table block. Its cells are rich text, in which nothing is a mention or link."""
    wrapped = [{"align": "left", "is_wrapped": True} for _ in table.lines[0]]
    header = [[_cell(cell, bold=True) for cell in table.header]] if table.header else []
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    return {"type": "table", "column_settings": wrapped, "rows": [*header, *rows]}


def _cell(text: str, *, bold: bool = False) -> Mapping[str, object]:
    elements = list(_styled(plain_code(text), bold=bold)) or [_literal(" ")]
    section = {"type": "rich_text_section", "elements": elements}
    return {"type": "rich_text", "elements": [section]}


def _styled(text: str, *, bold: bool) -> Iterator[Mapping[str, object]]:
    """Yield inline Markdown as elements; none is empty, which Slack refuses."""
    end = 0
    for found in _STYLED.finditer(text):
        if end < found.start():
            yield _literal(text[end : found.start()], bold=bold)
        if found["bold"]:
            yield from _styled(found["bold"], bold=True)
        else:
            yield _literal(found["code"], bold=bold, code=True)
        end = found.end()
    if end < len(text):
        yield _literal(text[end:], bold=bold)


def _literal(text: str, **style: bool) -> Mapping[str, object]:
    chosen = {name: True for name, on in style.items() if on}
    return {"type": "text", "text": text, **({"style": chosen} if chosen else {})}

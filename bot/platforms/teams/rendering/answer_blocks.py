"""Build the card elements of tables and code, split to fit a message; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.rendering.cards import text_block
from bot.platforms.teams.rendering.text import (
    card_plain,
    card_text,
    largest_fitting,
    split_markdown,
)
from rag.parts import CELL_JOINT, Code, Table

Fits = Callable[[Json], bool]
"""Returns whether an element is small enough for a message."""

_BOLD = "**"
_WIDEST = 40
_CHARACTERS_PER_WIDTH = 8
"""Characters of a column's longest cell per unit of its relative width."""

_PADDING_WIDTH = 3
"""Relative width of an empty column; less would break a word of five letters beside long cells."""


def table_elements(table: Table, fits: Fits) -> tuple[Json, ...]:
    """Return a table as elements that fit, split between rows, each with the header.

    Cells are inert Markdown. Returns () if a single row is too large.
    """
    elements = tuple(_table_element(part) for part in _row_groups(table, fits))
    return elements if all(map(fits, elements)) else ()


def _row_groups(table: Table, fits: Fits) -> Iterator[Table]:
    if not table.rows:
        yield table
    left = table
    while left.rows:
        count = _rows_fitting(left, fits)
        yield replace(left, rows=left.rows[:count])
        left = replace(left, rows=left.rows[count:])


def _rows_fitting(table: Table, fits: Fits) -> int:
    def fit(count: int) -> bool:
        return fits(_table_element(replace(table, rows=table.rows[:count])))

    return largest_fitting(len(table.rows), fit)


def _table_element(table: Table) -> Json:
    header = [_table_row(table.header, weight="Bolder")] if table.header else []
    return {
        "type": "Table",
        "firstRowAsHeaders": bool(header),
        "showGridLines": True,
        "columns": [{"width": width} for width in _widths(table)],
        "rows": [*header, *(_table_row(row) for row in table.rows)],
    }


def _widths(table: Table) -> Iterator[int]:
    for cells in zip(*table.lines, strict=True):
        yield _PADDING_WIDTH + min(max(map(len, cells)), _WIDEST) // _CHARACTERS_PER_WIDTH


def _table_row(cells: tuple[str, ...], **looks: object) -> Json:
    shown = [
        {"type": "TableCell", "items": [text_block(card_text(cell), **looks)]} for cell in cells
    ]
    return {"type": "TableRow", "cells": shown}


_WORDED_ROWS = 3
_LONGEST_WORDED = 600
_CUT_BYTES = 300


def table_words(table: Table) -> str:
    """Return what the message above a table says of it, for notifications and screen readers.

    These are the header and the first rows in bold, which answer best; the first rows if there are
    neither. Lines that are too long to be read twice are on the card alone, but the beginning of a
    table is never left out.
    """
    key = [row for row in table.rows if _is_bold(row)][:_WORDED_ROWS]
    said = (table.header, *key) if table.header else key or table.rows[:_WORDED_ROWS]
    first, *others = (CELL_JOINT.join(row).strip() for row in said)
    if len(first) > _LONGEST_WORDED:
        first = f"{split_markdown(first, _CUT_BYTES)[0].rstrip()}\u2026"
    return "\n".join((first, *(line for line in others if len(line) <= _LONGEST_WORDED)))


def _is_bold(row: tuple[str, ...]) -> bool:
    written = [cell for cell in row if cell.strip()]
    return bool(written) and all(_BOLD in cell for cell in written)


_PLAIN_LANGUAGE = "PlainText"
_LANGUAGES: Mapping[str, str] = {
    "bash": "Bash",
    "sh": "Bash",
    "shell": "Bash",
    "zsh": "Bash",
    "console": "Bash",
    "c": "C",
    "cpp": "Cpp",
    "c++": "Cpp",
    "csharp": "CSharp",
    "c#": "CSharp",
    "cs": "CSharp",
    "css": "Css",
    "bat": "Dos",
    "cmd": "Dos",
    "dos": "Dos",
    "go": "Go",
    "graphql": "Graphql",
    "html": "Html",
    "java": "Java",
    "javascript": "JavaScript",
    "js": "JavaScript",
    "json": "Json",
    "perl": "Perl",
    "php": "Php",
    "powershell": "PowerShell",
    "ps1": "PowerShell",
    "python": "Python",
    "py": "Python",
    "sql": "Sql",
    "typescript": "TypeScript",
    "ts": "TypeScript",
    "xml": "Xml",
}
"""Languages that Teams highlights, by the names that pages give them; others are plain text."""


def code_elements(code: Code, fits: Fits) -> tuple[Json, ...]:
    """Return code as elements that fit, split at line ends if possible; line numbers continue."""
    elements: list[Json] = []
    left, first = code, 1
    while left.text:
        text = _beginning(left, first, fits)
        elements.append(_code_element(replace(left, text=text), first))
        rest = left.text[len(text) :]
        first += text.count("\n") + rest.startswith("\n")
        left = replace(left, text=rest.removeprefix("\n"))
    return tuple(elements)


def _beginning(code: Code, first: int, fits: Fits) -> str:
    """Return the longest beginning of code that fits, of whole lines unless one is too long."""

    def fit(text: str) -> bool:
        return fits(_code_element(replace(code, text=text), first))

    lines = code.text.split("\n")
    whole = "\n".join(lines[: largest_fitting(len(lines), lambda n: fit("\n".join(lines[:n])))])
    return whole[: largest_fitting(len(whole), lambda n: fit(whole[:n]))]


def _code_element(code: Code, first: int) -> Json:
    """Return the element, with plain lines as fallback for other clients."""
    return {
        "type": "CodeBlock",
        "codeSnippet": code.text,
        "language": _LANGUAGES.get(code.language.casefold(), _PLAIN_LANGUAGE),
        "startLineNumber": first,
        "fallback": text_block(card_plain(code.text), fontType="Monospace"),
    }

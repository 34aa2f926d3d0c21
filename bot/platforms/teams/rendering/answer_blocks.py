"""Split an answer's Markdown into prose for a message, and tables and code for a card; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from bot.domain.text.markdown import blocks, is_fence
from bot.platforms.teams.payloads.activity import Json
from bot.platforms.teams.rendering.cards import text_block
from bot.platforms.teams.rendering.text import card_plain, card_text, largest_fitting

Alignment = Literal["left", "center", "right"]

_HEADER_RULE = re.compile(r"^ {0,3}(?=[^\n]*\|)\|? *:?-+:? *(?:\| *:?-+:? *)*(?:\| *)?$")
_BAR = re.compile(r"(?<!\\)\|")
_WIDEST = 40
_CHARACTERS_PER_WIDTH = 8
"""Characters of a column's longest cell per unit of its relative width."""


@dataclass(frozen=True, slots=True)
class Table:
    """A pipe table; cells are inert Markdown, as many in each row as there are columns."""

    columns: tuple[Alignment, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """All cells as text, to search for citation marks."""
        return "\n".join(cell for row in (self.header, *self.rows) for cell in row)

    def as_list(self) -> str:
        """Return the rows as Markdown list items, where a table can't be shown."""
        return "\n".join("- " + " \u00b7 ".join(row) for row in (self.header, *self.rows))

    def element(self) -> Json:
        """Return the Adaptive Card element; its first row is the header."""
        header = _table_row(self.header, weight="Bolder")
        return {
            "type": "Table",
            "firstRowAsHeaders": True,
            "showGridLines": True,
            "columns": [
                {"width": width, "horizontalCellContentAlignment": alignment}
                for width, alignment in zip(self._widths(), self.columns, strict=True)
            ],
            "rows": [header, *(_table_row(row) for row in self.rows)],
        }

    def parts(self, fits: Callable[[Json], bool]) -> tuple[Table, ...]:
        """Split the table between rows into tables that fit, each with the header.

        Returns () if a single row is too large. A table without rows is one part.
        """
        parts = list(self._packed(fits)) if self.rows else [self]
        return tuple(parts) if all(fits(part.element()) for part in parts) else ()

    def _packed(self, fits: Callable[[Json], bool]) -> Iterator[Table]:
        left = self.rows
        while left:
            part = self._begun(left, fits)
            yield part
            left = left[len(part.rows) :]

    def _begun(self, rows: tuple[tuple[str, ...], ...], fits: Callable[[Json], bool]) -> Table:
        count = largest_fitting(len(rows), lambda n: fits(replace(self, rows=rows[:n]).element()))
        return replace(self, rows=rows[:count])

    def _widths(self) -> tuple[int, ...]:
        columns = zip(self.header, *self.rows, strict=True)
        return tuple(
            1 + min(max(map(len, cells)), _WIDEST) // _CHARACTERS_PER_WIDTH for cells in columns
        )


def table_at(lines: Sequence[str], at: int) -> tuple[Table, int] | None:
    """Return the table that begins at a line, and the number of the line after it; or None."""
    if at + 1 >= len(lines) or not _HEADER_RULE.match(lines[at + 1]):
        return None
    header, columns = _cells(lines[at]), tuple(map(_alignment, _cells(lines[at + 1])))
    if len(header) != len(columns) or not _BAR.search(lines[at]):
        return None
    rows = tuple(takewhile(_BAR.search, lines[at + 2 :]))
    filled = tuple(_padded(_cells(row), len(columns)) for row in rows)
    return Table(columns, header, filled), at + 2 + len(rows)


def _cells(line: str) -> tuple[str, ...]:
    bare = line.strip().removeprefix("|")
    bare = bare[:-1] if bare.endswith("|") and not bare.endswith("\\|") else bare
    return tuple(cell.strip().replace("\\|", "|") for cell in _BAR.split(bare))


def _padded(cells: tuple[str, ...], columns: int) -> tuple[str, ...]:
    """Return exactly ``columns`` cells; surplus cells are joined to the last."""
    padded = (*cells, *("" for _ in range(columns - len(cells))))
    return (*padded[: columns - 1], " | ".join(padded[columns - 1 :]))


def _alignment(rule: str) -> Alignment:
    if rule.endswith(":"):
        return "center" if rule.startswith(":") else "right"
    return "left"


def _table_row(cells: tuple[str, ...], **looks: object) -> Json:
    shown = [
        {"type": "TableCell", "items": [text_block(card_text(cell), **looks)]} for cell in cells
    ]
    return {"type": "TableRow", "cells": shown}


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
"""Languages that Teams highlights, by the info string of a fence; others are plain text."""


@dataclass(frozen=True, slots=True)
class Code:
    """A block of code. ``language`` is Teams' name; ``first`` is the number of its first line."""

    text: str
    language: str = _PLAIN_LANGUAGE
    first: int = 1

    def element(self) -> Json:
        """Return the Adaptive Card element, with plain lines as fallback for other clients."""
        shown = text_block(card_plain(self.text), fontType="Monospace")
        return {
            "type": "CodeBlock",
            "codeSnippet": self.text,
            "language": self.language,
            "startLineNumber": self.first,
            "fallback": shown,
        }

    def parts(self, fits: Callable[[Json], bool]) -> tuple[Code, ...]:
        """Split the code into parts that fit, at line ends if possible; line numbers continue."""
        parts: list[Code] = []
        left: Code | None = self
        while left is not None:
            part, left = _split_code(left, fits)
            parts.append(part)
        return tuple(parts)


def code_in(block: str) -> Code:
    """Return the code of a closed fenced block (bot.domain.text.markdown.plain_code)."""
    opening, *lines = block.split("\n")
    named = opening.strip(" `~").split(" ")[0].casefold()
    return Code("\n".join(lines[:-1]), _LANGUAGES.get(named, _PLAIN_LANGUAGE))


def _split_code(code: Code, fits: Callable[[Json], bool]) -> tuple[Code, Code | None]:
    """Return the longest beginning that fits, and the rest or None."""
    lines = code.text.split("\n")
    count = largest_fitting(
        len(lines), lambda n: fits(replace(code, text="\n".join(lines[:n])).element())
    )
    whole = "\n".join(lines[:count])
    end = largest_fitting(len(whole), lambda n: fits(replace(code, text=whole[:n]).element()))
    rest = code.text[end:]
    first = code.first + whole[:end].count("\n") + rest.startswith("\n")
    left = Code(rest.removeprefix("\n"), code.language, first)
    return replace(code, text=whole[:end]), left if left.text else None


AnswerBlock = str | Table | Code


def blocks_of(text: str) -> Iterator[AnswerBlock]:
    """Yield prose, tables and code in order; ``text`` is inert, with plain fences.

    bot.domain.text.markdown.disarm and bot.domain.text.markdown.plain_code return such text.
    """
    for block in blocks(text):
        if is_fence(block):
            code = code_in(block)
            if code.text.strip():
                yield code
        else:
            yield from _prose_and_tables(block.split("\n"))


def _prose_and_tables(lines: list[str]) -> Iterator[str | Table]:
    begun = at = 0
    while at < len(lines):
        found = table_at(lines, at)
        if found is None:
            at += 1
            continue
        if begun < at:
            yield "\n".join(lines[begun:at])
        table, at = found
        begun = at
        yield table
    if begun < at:
        yield "\n".join(lines[begun:])

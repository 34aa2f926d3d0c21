"""Blocks as the readable Markdown that chunks hold; one form for each. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ingestion.types import Block, Code, ItemList, Table

_FENCES = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)


def markdown(block: Block) -> str:
    """Return a block's text as a chunk shows it."""
    if isinstance(block, ItemList):
        return "\n".join(block.items)
    if isinstance(block, Table):
        return "\n".join((*header_lines(block), *(row_line(row) for row in block.rows)))
    if isinstance(block, Code):
        fence = code_fence(block)
        return f"{fence}{block.language}\n{block.text}\n{fence}"
    return block.text


def header_lines(table: Table) -> tuple[str, ...]:
    """Return the header row and the rule below it, or nothing."""
    if not table.header:
        return ()
    return row_line(table.header), "| " + " | ".join("---" for _ in table.header) + " |"


def row_line(cells: Sequence[str]) -> str:
    """Return one row in pipe form."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def code_fence(code: Code) -> str:
    """Return a fence longer than any in the code."""
    longest = max((len(fence) for fence in _FENCES.findall(code.text)), default=2)
    return "`" * max(3, longest + 1)

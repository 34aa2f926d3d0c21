"""An answer's Markdown as what a message shows in its text, and what only a card can show: pure."""

from __future__ import annotations

from collections.abc import Iterator

from bot.adapters.teams.showing.code import Code, code_in
from bot.adapters.teams.showing.tables import Table, table_at
from bot.domain.text.markdown import blocks, is_fence

Piece = str | Table | Code


def pieces(text: str) -> Iterator[Piece]:
    """Yield prose, tables and code in their order; ``text`` is inert, its fences plain.

    That is what bot.domain.text.markdown.disarm and bot.domain.text.markdown.plain_code return.
    """
    for block in blocks(text):
        if is_fence(block):
            code = code_in(block)
            if code.text.strip():
                yield code
        else:
            yield from _tabled(block.split("\n"))


def _tabled(lines: list[str]) -> Iterator[str | Table]:
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

"""An answer's text in units that one activity takes whole: pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from bot.adapters.teams.showing.citations import marks_in
from bot.adapters.teams.showing.code import Code
from bot.adapters.teams.showing.cutting import cut
from bot.adapters.teams.showing.elements import text_block
from bot.adapters.teams.showing.pieces import pieces
from bot.adapters.teams.showing.sizes import size
from bot.adapters.teams.showing.tables import Table
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import teams_markdown

_BREAK = re.compile(r"(?<=\S)\n(?!\s*(?:[-*+]|\d{1,3}[.)])\s)(?=\s*\S)")
"""The end of a line that is not the last of its paragraph, and before no item of a list."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Words, and what hangs below the message that says them."""

    text: str
    below: tuple[Json, ...] = ()


def units_of(text: str, citations: Collection[int], room: int) -> Iterator[Unit]:
    """Yield inert Markdown in units of at most ``room`` bytes, in order.

    Lines stay lines, which Markdown would join. What hangs below is named in the text where it
    belongs. Marks of ``citations`` in a table stand there too, for Teams resolves them nowhere
    else. A table that can't be cut to fit is a list.
    """
    tables = codes = 0
    for piece in pieces(text):
        if isinstance(piece, str):
            yield from _prose(piece, room)
        elif isinstance(piece, Code):
            codes += 1
            yield from _named(f"Code {codes}", piece.parts(_within(room)), ())
        elif parts := piece.parts(_within(room)):
            tables += 1
            yield from _named(f"Table {tables}", parts, citations)
        else:
            yield from _prose(piece.as_list(), room)


def marked_in(text: str) -> frozenset[int]:
    """Return the numbers that prose and tables mark; what looks so in a block of code is code."""
    shown = [piece for piece in pieces(text) if not isinstance(piece, Code)]
    texts = (piece if isinstance(piece, str) else piece.text for piece in shown)
    return frozenset().union(*map(marks_in, texts))


def _prose(text: str, room: int) -> Iterator[Unit]:
    shown = _BREAK.sub("  \n", teams_markdown(text))
    return (Unit(part) for part in cut(shown, room) if part.strip())


def _named(name: str, parts: Sequence[Table | Code], citations: Collection[int]) -> Iterator[Unit]:
    for number, part in enumerate(parts, start=1):
        called = name if len(parts) == 1 else f"{name}, part {number} of {len(parts)}"
        marked = sorted(marks_in(part.text).intersection(citations))
        marks = "".join(f"[{mark}]" for mark in marked)
        text = f"_{called}, below_ {marks}".rstrip()
        yield Unit(text, (text_block(called, weight="Bolder"), part.element()))


def _within(room: int) -> Callable[[Json], bool]:
    return lambda element: size(element) <= room

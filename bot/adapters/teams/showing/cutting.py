"""Prose cut into parts of a size, with nothing left open at a cut: pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bot.adapters.teams.showing.sizes import size
from bot.domain.text.markdown import split

_MENDING = 100
"""Bytes kept for what is closed before a cut, opened again after it, or moved over it."""

_HALF_MARK = re.compile(r"\\?\[\d{0,3}\Z|\\\Z")
_QUOTE = re.compile(r"^ {0,3}> ?")
_PAIRS = ("`", "**")


def cut(text: str, limit: int) -> tuple[str, ...]:
    """Return text in parts of at most ``limit`` bytes (showing.sizes).

    Code within a line, bold and quotes go on in the next part; a citation's mark is never cut.
    Code has single backticks (bot.domain.text.markdown.plain_code).
    """
    return tuple(_mended(split(text, limit - _MENDING, size)))


def _mended(parts: Sequence[str]) -> Iterator[str]:
    rest = parts[0]
    for following in parts[1:]:
        half = _HALF_MARK.search(rest)
        kept = rest[: half.start()] if half else rest
        begun = f"{half[0] if half else ''}{following}"
        quote = _quote(kept, begun)
        for pair in _PAIRS:
            kept, begun = _closed(kept, begun, pair)
        yield kept
        rest = quote + begun
    yield rest


def _closed(before: str, after: str, pair: str) -> tuple[str, str]:
    """Close a pair that is open at a cut, and open it again; never with nothing inside."""
    if not _is_open(before, pair):
        return before, after
    kept = before.removesuffix(pair) if before.endswith(pair) else before + pair
    return kept, after.removeprefix(pair) if after.startswith(pair) else pair + after


def _is_open(text: str, pair: str) -> bool:
    return text.count(pair) % 2 == 1


def _quote(text: str, following: str) -> str:
    """Return the quote mark that the next part needs, if a quote was cut."""
    mark = _QUOTE.match(text.rpartition("\n")[2])
    return mark[0] if mark and not _QUOTE.match(following) else ""

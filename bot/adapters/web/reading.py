"""Stored pages as one reads them: headings once, overlaps once, the quote highlighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from bot.pages.markup import passage_html, spans
from rag.types import Chunk

MOST_QUOTES = 10
"""Quotes that are looked for; the links of answers name no more."""

_LONGEST_OVERLAP = 600
_SHORTEST_OVERLAP = 20


@dataclass(frozen=True, slots=True)
class PartView:
    """A piece of a page under one heading; ``page`` counts in paged documents."""

    heading: str
    page: int | None
    html: Markup


def parts_of(
    chunks: Sequence[Chunk], *, chunk_id: str, quotes: Sequence[str]
) -> tuple[PartView, ...]:
    """Return a page's parts, the quotes highlighted in the chunk they were taken from.

    When that chunk is gone because the page was edited, the first chunk that has one will do.
    """
    quotes = quotes[:MOST_QUOTES]
    before = [None, *chunks[:-1]] if chunks else []
    quoted = _quoted(chunks, chunk_id, quotes)
    return tuple(
        _part(previous, chunk, quotes if chunk.id == quoted else ())
        for previous, chunk in zip(before, chunks, strict=True)
    )


def highlighted(parts: Sequence[PartView]) -> bool:
    """Tell whether anything is highlighted."""
    return any("<mark" in part.html for part in parts)


def _quoted(chunks: Sequence[Chunk], chunk_id: str, quotes: Sequence[str]) -> str:
    holding = [chunk.id for chunk in chunks if spans(chunk.text, quotes)]
    return chunk_id if chunk_id in holding else next(iter(holding), "")


def _part(previous: Chunk | None, chunk: Chunk, quotes: Sequence[str]) -> PartView:
    text = chunk.text
    if previous is not None and previous.section == chunk.section:
        kept = text[_overlap(previous.text, text) :]
        text = kept if len(spans(kept, quotes)) == len(spans(text, quotes)) else text
    same = previous is not None and _place(previous) == _place(chunk)
    return PartView(
        heading="" if same else _place(chunk),
        page=chunk.document_page,
        html=passage_html(text, quotes),
    )


def _place(chunk: Chunk) -> str:
    if chunk.document_page is not None:
        return f"Page {chunk.document_page}"
    return chunk.section if chunk.section != chunk.title else ""


def _overlap(before: str, after: str) -> int:
    """Return how many characters at the start of ``after`` repeat the end of ``before``."""
    longest = min(len(before), len(after), _LONGEST_OVERLAP)
    for size in range(longest, _SHORTEST_OVERLAP, -1):
        if before.endswith(after[:size]):
            return size
    return 0

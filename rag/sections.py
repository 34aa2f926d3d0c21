"""What stands under one heading of a page, whatever chunks it is cut into. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rag.blocks import Block, Span, blocks_in
from rag.sentences import HEADING_WORDS, is_heading, plain
from rag.types import Chunk

SECTION_CHUNKS = 8
"""A section is read up to this length, around what was found of it."""

_NO_HEADING = re.compile(r"\s*(?:\||(?:[-*+\u2022\u25aa\u25e6]|\d{1,3}[.)])\s)")
"""How rows of tables and items of lists begin."""


@dataclass(frozen=True)
class Section:
    """What stands under one heading of a page, and the chunks it is in, in order.

    ``part`` are its blocks where its chunks hold more than the section; None: all of them.
    """

    chunks: tuple[Chunk, ...]
    part: tuple[Block, ...] | None = None

    @property
    def page_id(self) -> str:
        return self.chunks[0].page_id

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Its blocks; read when first asked for, as most sections are never shown."""
        return _blocks(self.chunks) if self.part is None else self.part

    @property
    def spans(self) -> Iterator[Span]:
        """Yield everything in it that can be shown."""
        return _spans(self.blocks)


def section_of(
    chunk: Chunk, page: Sequence[Chunk], most: int = SECTION_CHUNKS
) -> tuple[Chunk, ...]:
    """Return the chunks of the section that a chunk of the page is in, at most ``most``.

    Of a longer one those nearest to the chunk are left. A page that no longer has the chunk gives
    the chunk alone.
    """
    same = [other for other in page if other.breadcrumb == chunk.breadcrumb]
    at = next((n for n, other in enumerate(same) if other.id == chunk.id), None)
    if at is None:
        return (chunk,)
    first = max(0, min(at - most // 2, len(same) - most))
    return tuple(same[first : first + most])


def sections_of(chunks: Iterable[Chunk]) -> tuple[Section, ...]:
    """Return the sections that the chunks make, in the order in which each is first met."""
    sections: dict[tuple[str, str, tuple[str, ...]], dict[str, Chunk]] = {}
    for chunk in chunks:
        key = (chunk.space, chunk.page_id, chunk.breadcrumb)
        sections.setdefault(key, {}).setdefault(chunk.id, chunk)
    ordered = (sorted(same.values(), key=lambda each: each.ordinal) for same in sections.values())
    return tuple(section for same in ordered for section in _divided(same))


def _divided(chunks: Sequence[Chunk]) -> Iterator[Section]:
    """Yield what stands under each heading that is left in the text of chunks of one breadcrumb.

    Short sections of a page share a chunk. As one they would be found for the words of all.
    """
    if not any(_may_hold_heading(chunk.text) for chunk in chunks):
        yield Section(tuple(chunks))
        return
    part: list[Block] = []
    for block in _blocks(chunks):
        if part and _begins(block):
            yield _section(part)
            part = []
        part.append(block)
    if part:
        yield _section(part)


@lru_cache(maxsize=4096)
def _may_hold_heading(text: str) -> bool:
    """Whether a line is short enough for a heading; sooner told than by reading all blocks."""
    lines = (line for line in text.splitlines() if line.strip() and not _NO_HEADING.match(line))
    return any(len(plain(line).split()) <= HEADING_WORDS for line in lines)


def _begins(block: Block) -> bool:
    return any(is_heading(span.quote) for span in block.above)


def _section(blocks: Sequence[Block]) -> Section:
    chunks = {span.chunk.id: span.chunk for span in _spans(blocks)}
    return Section(tuple(chunks.values()), tuple(blocks))


def _spans(blocks: Sequence[Block]) -> Iterator[Span]:
    for block in blocks:
        yield from block.above
        if block.header:
            yield block.header
        yield from block.entries


def _blocks(chunks: Sequence[Chunk]) -> tuple[Block, ...]:
    return tuple(block for run in _runs(chunks) for block in blocks_in(run))


def _runs(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """Yield the chunks that follow each other on the page."""
    run: list[Chunk] = []
    for chunk in chunks:
        if run and chunk.ordinal != run[-1].ordinal + 1:
            yield run
            run = []
        run.append(chunk)
    if run:
        yield run

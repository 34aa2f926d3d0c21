"""What stands under one heading of a page, whatever chunks it is cut into. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rag.blocks import Block, Span, blocks_in
from rag.sentences import is_heading
from rag.types import Chunk

SECTION_CHUNKS = 8
"""A section is read up to this length, around what was found of it."""


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading of a page: its blocks, and the chunks they are in, in order."""

    chunks: tuple[Chunk, ...]
    blocks: tuple[Block, ...]

    @property
    def page_id(self) -> str:
        return self.chunks[0].page_id

    @property
    def spans(self) -> Iterator[Span]:
        """Yield everything in it that can be shown."""
        for block in self.blocks:
            yield from block.above
            if block.header:
                yield block.header
            yield from block.entries


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
    part: list[Block] = []
    for run in _runs(chunks):
        for block in blocks_in(run):
            if part and _begins(block):
                yield _section(part)
                part = []
            part.append(block)
    if part:
        yield _section(part)


def _begins(block: Block) -> bool:
    return any(is_heading(span.quote) for span in block.above)


def _section(blocks: Sequence[Block]) -> Section:
    section = Section((), tuple(blocks))
    chunks = {span.chunk.id: span.chunk for span in section.spans}
    return replace(section, chunks=tuple(chunks.values()))


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

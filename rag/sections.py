"""What stands under one heading of a page, whatever chunks it is cut into. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rag.blocks import Block, blocks_in
from rag.types import Chunk

SECTION_CHUNKS = 8
"""A section is read up to this length, around what was found of it."""


@dataclass(frozen=True, slots=True)
class Section:
    """The chunks of a page that stand under one breadcrumb, in page order."""

    chunks: tuple[Chunk, ...]

    @property
    def page_id(self) -> str:
        return self.chunks[0].page_id

    def blocks(self) -> tuple[Block, ...]:
        """Return its blocks; text that two chunks repeat is in it once."""
        return tuple(block for run in _runs(self.chunks) for block in blocks_in(run))


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
    return tuple(Section(tuple(same)) for same in ordered)


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

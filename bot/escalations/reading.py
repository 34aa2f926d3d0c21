"""What somebody may read of the pages that were found for a question, by the index itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from rag.types import EVERYONE, Chunk, Principal


class OnPage(Protocol):
    """A passage that was found, as the record names it."""

    @property
    def chunk_id(self) -> str: ...

    @property
    def page_id(self) -> str: ...


class Readable(Protocol):
    """Tells what may be read. Raises rag.errors.IndexUnavailable."""

    async def readable(
        self, tenant: str, found: Sequence[OnPage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        """Return by id the passages that are still there and may be read, as they are now."""
        ...


class Pages(Protocol):
    """What is asked of an index; either answer is bounded by the tenant."""

    async def spaces(self, tenant: str) -> Mapping[str, int]: ...

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        """Return a page's chunks; empty when there is none or it may not be read."""
        ...


class IndexReading:
    """Implements Readable over an index.

    The record does not name a passage's space, so every space is asked for the page; an id of a
    passage is unique. What the index does not hand out may not be read.
    """

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def readable(
        self, tenant: str, found: Sequence[OnPage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        wanted = {each.chunk_id for each in found}
        open_: dict[str, Chunk] = {}
        if not wanted:
            return open_
        spaces = list(await self._pages.spaces(tenant))
        for page_id in dict.fromkeys(each.page_id for each in found):
            for space in spaces:
                chunks = await self._pages.page(tenant, space, page_id, readers | {EVERYONE})
                open_.update(_among(wanted, chunks))
        return open_


def _among(wanted: set[str], chunks: Iterable[Chunk]) -> dict[str, Chunk]:
    return {chunk.id: chunk for chunk in chunks if chunk.id in wanted}

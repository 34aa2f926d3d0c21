"""What somebody may read of the pages that were found for a question, by the index itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from rag.ports import ReadsChunks
from rag.types import EVERYONE, Chunk, Principal

_Passage = tuple[str, str]
"""Page and chunk."""


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

    An id of a passage is unique. An index that can't be asked for passages is asked for their
    pages, in every space: the record does not name a passage's. What the index does not hand out
    may not be read.
    """

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def readable(
        self, tenant: str, found: Sequence[OnPage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        if not found:
            return {}
        readers |= {EVERYONE}
        wanted = {(each.page_id, each.chunk_id) for each in found}
        if isinstance(self._pages, ReadsChunks):
            ids = {each.chunk_id for each in found}
            return _among(wanted, (await self._pages.chunks(tenant, ids, readers)).values())
        return await self._by_page(tenant, wanted, readers)

    async def _by_page(
        self, tenant: str, wanted: set[_Passage], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        open_: dict[str, Chunk] = {}
        spaces = list(await self._pages.spaces(tenant))
        for page_id in sorted({page_id for page_id, _ in wanted}):
            for space in spaces:
                chunks = await self._pages.page(tenant, space, page_id, readers)
                open_.update(_among(wanted, chunks))
        return open_


def _among(wanted: set[_Passage], chunks: Iterable[Chunk]) -> dict[str, Chunk]:
    return {chunk.id: chunk for chunk in chunks if (chunk.page_id, chunk.id) in wanted}

"""Reads chunks of an index as they are held: by their ids, by their page."""

from __future__ import annotations

from collections.abc import Collection

from rag.index.azure.connection import Connection
from rag.index.azure.documents import CHUNK, CHUNK_FIELDS, chunk_of
from rag.index.azure.filters import both, equals, one_of
from rag.index.azure.permissions import readable_by
from rag.index.azure.queries import listed
from rag.types import Chunk, Principal

_IDS_AT_ONCE = 500
"""So many chunks are asked for in one request."""


class Chunks:
    """Reads one service's indexes; each method is told which one, and finds what may be read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def by_id(
        self, index: str, tenant: str, ids: Collection[str], readers: frozenset[Principal]
    ) -> dict[str, Chunk]:
        found: dict[str, Chunk] = {}
        ordered = sorted(ids)
        of_tenant = equals("tenant", tenant)
        for start in range(0, len(ordered), _IDS_AT_ONCE):
            some = one_of("id", ordered[start : start + _IDS_AT_ONCE])
            chunks = await self._listed(index, both(of_tenant, some), readers)
            found |= {chunk.id: chunk for chunk in chunks}
        return found

    async def of_page(
        self, index: str, place: tuple[str, str, str], readers: frozenset[Principal]
    ) -> tuple[Chunk, ...]:
        """Return the chunks of a page (tenant, space, id) in order."""
        tenant, space, page_id = place
        of_page = both(equals("tenant", tenant), equals("space", space), equals("page_id", page_id))
        chunks = await self._listed(index, of_page, readers)
        return tuple(sorted(chunks, key=lambda chunk: chunk.ordinal))

    async def _listed(
        self, index: str, condition: str, readers: frozenset[Principal]
    ) -> list[Chunk]:
        whole = both(equals("kind", CHUNK), condition, readable_by(readers))
        documents = listed(self._connection, index, whole, select=CHUNK_FIELDS, order="id")
        return [chunk_of(document) async for document in documents]

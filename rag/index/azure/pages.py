"""Writes whole pages to the index, in an order that a kill at any point does no harm in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Sequence

from rag.index.azure.connection import Connection
from rag.index.azure.documents import (
    CHUNK,
    PAGE,
    Document,
    Read,
    chunk_documents,
    page_document,
    permission_fields,
)
from rag.index.azure.filters import both, equals, one_of
from rag.index.azure.queries import listed
from rag.index.azure.writer import Change, Writer
from rag.index.rows import readers_text
from rag.types import Chunk, Page, Principal, Readers, Vectors

_PAGES_AT_ONCE = 500
_SELECT = ("id", "kind", "tenant", "space", "page_id", "readers", "version", "chunks")

UNSETTLED: Document = {
    **permission_fields(()),
    "readers": readers_text((frozenset({Principal("unsettled")}),)),
}
"""Shown to nobody, and for readers that no page has: those of its chunks are being changed."""


class Pages:
    """Replaces, restricts and removes pages of one index.

    The service has no transactions. A page's own document is told first that the page is being
    done, of which version, and for whom, last; and it is removed last. Whatever a kill leaves, the
    next sync sees that there is something, and that it is neither of the version nor for the
    readers that the page has. Each chunk carries its own readers with its text, so that no state in
    between shows anyone what he may not read.
    """

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer

    async def put(
        self, index: str, page: Page, chunks: Sequence[Chunk], vectors: Vectors | None
    ) -> None:
        """Write the chunks, remove those that went, then say that the page is there."""
        kept = await self._kept(index, page, chunks)
        await self._writer.write(index, [_begun(page, kept)])
        ids = {chunk.id for chunk in chunks}
        gone = [found for found in kept if found["kind"] == CHUNK and found["id"] not in ids]
        steps = [_uploads(chunk_documents(page, chunks, vectors)), _deletes(gone)]
        if any(found["readers"] != readers_text(page.readers) for found in gone):
            # Perhaps fewer may read it now: what former readers can still find goes first.
            steps.reverse()
        for step in steps:
            await self._writer.write(index, step)
        await self._writer.write(index, _uploads([page_document(page, chunks)]))

    async def restrict(self, index: str, place: tuple[str, str, str], readers: Readers) -> None:
        """Change who may read a page (tenant, space, id): its chunks first, then its document."""
        tenant, space, page_id = place
        found = [one async for one in self._all(index, tenant, space, [page_id])]
        pages = [one for one in found if one["kind"] == PAGE]
        chunks = [one for one in found if one["kind"] == CHUNK]
        fields = permission_fields(readers)
        await self._writer.write(index, _merges(pages, UNSETTLED))
        await self._writer.write(index, _merges(chunks, fields))
        for one in pages:
            # What was written a moment ago may not be found yet: such a page is done again.
            version = one["version"] if one["chunks"] == len(chunks) else ""
            await self._writer.write(index, _merges([one], {**fields, "version": version}))

    async def remove(self, index: str, tenant: str, space: str, page_ids: Collection[str]) -> int:
        """Remove pages; return of how many there was anything."""
        wanted = sorted(set(page_ids))
        removed = 0
        for start in range(0, len(wanted), _PAGES_AT_ONCE):
            ids = wanted[start : start + _PAGES_AT_ONCE]
            found = [one async for one in self._all(index, tenant, space, ids)]
            pages = [one for one in found if one["kind"] == PAGE]
            chunks = [one for one in found if one["kind"] == CHUNK]
            await self._writer.write(index, _merges(pages, {"version": "", **UNSETTLED}))
            for step in (chunks, pages):
                await self._writer.write(index, _deletes(step))
            removed += len({one["page_id"] for one in found})
        return removed

    async def _kept(self, index: str, page: Page, chunks: Sequence[Chunk]) -> list[Read]:
        """Return what there is of a page. Raises ValueError for chunks that are another's."""
        mine = both(
            equals("tenant", page.tenant), equals("space", page.space), equals("page_id", page.id)
        )
        condition = f"({mine})"
        if chunks:
            condition += f" or {one_of('id', [chunk.id for chunk in chunks])}"
        found = [one async for one in self._listed(index, condition)]
        for one in found:
            if (one["tenant"], one["space"], one["page_id"]) != (page.tenant, page.space, page.id):
                raise ValueError(
                    f"Chunk {one['id']!r} of page {page.id!r} is already in the index."
                )
        return found

    def _all(
        self, index: str, tenant: str, space: str, page_ids: Collection[str]
    ) -> AsyncIterator[Read]:
        condition = both(
            equals("tenant", tenant), equals("space", space), one_of("page_id", page_ids)
        )
        return self._listed(index, condition)

    def _listed(self, index: str, condition: str) -> AsyncIterator[Read]:
        return listed(self._connection, index, condition, select=_SELECT, order="id")


def _begun(page: Page, kept: Iterable[Read]) -> Change:
    """Say that a page is being written; for the same readers it is still found meanwhile."""
    same = readers_text(page.readers)
    known = [one["id"] for one in kept if one["kind"] == PAGE and one["readers"] == same]
    if known:
        told = {"id": known[0], "version": "", "readers": UNSETTLED["readers"]}
        return Change("merge", told)
    return Change("upload", {**page_document(page, ()), "version": "", **UNSETTLED})


def _merges(documents: Iterable[Read], fields: Document) -> list[Change]:
    return [Change("merge", {"id": document["id"], **fields}) for document in documents]


def _uploads(documents: Iterable[Document]) -> list[Change]:
    return [Change("upload", document) for document in documents]


def _deletes(documents: Iterable[Read]) -> list[Change]:
    return [Change("delete", {"id": document["id"]}) for document in documents]

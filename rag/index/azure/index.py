"""The index in Azure AI Search, for many pages and several replicas."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rag.errors import IndexUnavailable
from rag.index.azure.catalogue import Catalogue
from rag.index.azure.connection import Connection
from rag.index.azure.current import Current
from rag.index.azure.documents import CHUNK, CHUNK_FIELDS, Facts, Read, chunk_of
from rag.index.azure.filters import both, equals, one_of
from rag.index.azure.pages import Pages
from rag.index.azure.permissions import readable_by
from rag.index.azure.queries import find, listed
from rag.index.azure.retriever import Retriever
from rag.index.azure.versions import Versions
from rag.index.writing import Embeddings, check_page
from rag.types import (
    Chunk,
    Fingerprint,
    Page,
    PageSummary,
    Passage,
    Principal,
    Question,
    Readers,
    SpaceSummary,
    Vectors,
)

_IDS_AT_ONCE = 500
"""So many chunks are asked for in one request."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What an index in Azure is made of; ``writes`` is whether it was opened to be written."""

    connection: Connection
    current: Current
    retriever: Retriever
    catalogue: Catalogue
    pages: Pages
    versions: Versions
    writes: bool


class AzureIndex:
    """Implements rag.ports.SearchIndex.

    The service has no transactions: while a page is being replaced, a reader may find chunks of
    the old and the new, each with the readers that it had then. What is written is seen a moment
    later, so that nothing is read back. A kill leaves a page that the next run does again.
    """

    def __init__(self, parts: Parts, expected: Fingerprint | None) -> None:
        self._parts = parts
        self._expected = expected
        self._claimed = False

    async def search(
        self, question: Question, readers: frozenset[Principal], k: int
    ) -> tuple[Passage, ...]:
        async def search(facts: Facts) -> tuple[Passage, ...]:
            return await self._parts.retriever.search(facts, question, readers, k)

        return await self._parts.current.used(search)

    async def neighbours(
        self, chunk_id: str, readers: frozenset[Principal], *, before: int = 1, after: int = 1
    ) -> tuple[Chunk, ...]:
        async def neighbours(facts: Facts) -> tuple[Chunk, ...]:
            centre = await self._chunk(facts.index, chunk_id, readers)
            if centre is None:
                return ()
            around = both(
                f"ordinal ge {centre['ordinal'] - before}",
                f"ordinal le {centre['ordinal'] + after}",
            )
            place = (centre["tenant"], centre["space"], centre["page_id"])
            found = await self._chunks(facts.index, place, readers, around)
            return tuple(chunk for chunk in found if chunk.id != chunk_id)

        return await self._parts.current.used(neighbours)

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> tuple[Chunk, ...]:
        async def page(facts: Facts) -> tuple[Chunk, ...]:
            return await self._chunks(facts.index, (tenant, space, page_id), readers)

        return await self._parts.current.used(page)

    async def chunks(
        self, tenant: str, ids: Collection[str], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        """Return by id the chunks that are there and may be read."""

        async def chunks(facts: Facts) -> Mapping[str, Chunk]:
            found: dict[str, Chunk] = {}
            ordered = sorted(ids)
            for start in range(0, len(ordered), _IDS_AT_ONCE):
                some = ordered[start : start + _IDS_AT_ONCE]
                found |= await self._chunks_by_id(facts.index, tenant, some, readers)
            return found

        return await self._parts.current.used(chunks)

    async def upsert_page(
        self, page: Page, chunks: Sequence[Chunk], vectors: Vectors | None
    ) -> None:
        """Replace a page and its chunks, not at once: see the class."""
        dimensions = self._expected.dimensions if self._expected else 0
        check_page(page, chunks, Embeddings(vectors), dimensions)
        await self._claim()

        async def put(facts: Facts) -> None:
            await self._parts.pages.put(facts.index, page, chunks, vectors)

        await self._parts.current.used(put)

    async def delete_pages(self, tenant: str, space: str, page_ids: Collection[str]) -> int:
        async def remove(facts: Facts) -> int:
            return await self._parts.pages.remove(facts.index, tenant, space, page_ids)

        return await self._parts.current.used(remove)

    async def set_readers(self, tenant: str, space: str, page_id: str, readers: Readers) -> None:
        async def restrict(facts: Facts) -> None:
            await self._parts.pages.restrict(facts.index, (tenant, space, page_id), readers)

        await self._parts.current.used(restrict)

    async def pages(self, tenant: str, space: str) -> Mapping[str, Page]:
        async def pages(facts: Facts) -> Mapping[str, Page]:
            return await self._parts.catalogue.all_pages(facts.index, tenant, space)

        return await self._parts.current.used(pages)

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        async def spaces(facts: Facts) -> Mapping[str, int]:
            return await self._parts.catalogue.chunks_by_space(facts.index, tenant, None)

        return await self._parts.current.used(spaces)

    async def tenants(self) -> Mapping[str, int]:
        """Return how many pages there are of each tenant; all share one index."""

        async def tenants(facts: Facts) -> Mapping[str, int]:
            return await self._parts.catalogue.pages_by_tenant(facts.index)

        return await self._parts.current.used(tenants)

    async def fingerprint(self) -> Fingerprint | None:
        async def fingerprint(facts: Facts) -> Fingerprint | None:
            held = await self._parts.catalogue.holds_pages(facts.index)
            return facts.fingerprint if held else None

        return await self._parts.current.used(fingerprint)

    async def space_summaries(
        self, tenant: str, readers: frozenset[Principal] | None
    ) -> tuple[SpaceSummary, ...]:
        async def spaces(facts: Facts) -> tuple[SpaceSummary, ...]:
            return await self._parts.catalogue.spaces(facts.index, tenant, readers)

        return await self._parts.current.used(spaces)

    async def page_summaries(
        self,
        tenant: str,
        space: str,
        readers: frozenset[Principal] | None,
        *,
        words: str = "",
        after: str = "",
        limit: int = 50,
    ) -> tuple[PageSummary, ...]:
        async def summaries(facts: Facts) -> tuple[PageSummary, ...]:
            return await self._parts.catalogue.summaries(
                facts.index, (tenant, space), readers, words=words, after=after, limit=limit
            )

        return await self._parts.current.used(summaries)

    async def page_summary(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        async def summary(facts: Facts) -> PageSummary | None:
            place = (tenant, space, page_id)
            return await self._parts.catalogue.summary(facts.index, place, readers)

        return await self._parts.current.used(summary)

    async def page_at(
        self, tenant: str, urls: Sequence[str], readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        async def at(facts: Facts) -> PageSummary | None:
            return await self._parts.catalogue.at(facts.index, tenant, urls, readers)

        return await self._parts.current.used(at)

    async def close(self) -> None:
        """Close the connections, and the credential with them."""
        await self._parts.connection.close()

    async def _claim(self) -> None:
        """Note whose vectors these are, while there are none of another's."""
        if self._expected is None or self._claimed:
            return
        if not self._parts.writes:
            raise IndexUnavailable("This index in Azure AI Search was opened to be read only.")
        current = self._parts.current
        facts = await current.facts()
        current.take(await self._parts.versions.claim(current.name, facts, self._expected))
        self._claimed = True

    async def _chunk(self, index: str, chunk_id: str, readers: frozenset[Principal]) -> Read | None:
        condition = both(equals("kind", CHUNK), equals("id", chunk_id), readable_by(readers))
        select = ["tenant", "space", "page_id", "ordinal"]
        found = await find(
            self._parts.connection,
            index,
            search_text="*",
            filter=condition,
            select=select,
            top=1,
        )
        return found.documents[0] if found.documents else None

    async def _chunks_by_id(
        self, index: str, tenant: str, ids: Sequence[str], readers: frozenset[Principal]
    ) -> dict[str, Chunk]:
        condition = both(
            equals("kind", CHUNK),
            equals("tenant", tenant),
            one_of("id", ids),
            readable_by(readers),
        )
        documents = listed(
            self._parts.connection, index, condition, select=CHUNK_FIELDS, order="id"
        )
        found = [chunk_of(document) async for document in documents]
        return {chunk.id: chunk for chunk in found}

    async def _chunks(
        self,
        index: str,
        place: tuple[str, str, str],
        readers: frozenset[Principal],
        narrowed: str | None = None,
    ) -> tuple[Chunk, ...]:
        tenant, space, page_id = place
        condition = both(
            equals("kind", CHUNK),
            equals("tenant", tenant),
            equals("space", space),
            equals("page_id", page_id),
            narrowed,
            readable_by(readers),
        )
        documents = listed(
            self._parts.connection, index, condition, select=CHUNK_FIELDS, order="id"
        )
        chunks = [chunk_of(document) async for document in documents]
        return tuple(sorted(chunks, key=lambda chunk: chunk.ordinal))

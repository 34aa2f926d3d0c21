"""The index in Azure AI Search, for many pages and several replicas."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rag.errors import IndexUnavailable
from rag.index.azure.catalogue import Catalogue
from rag.index.azure.chunks import Chunks
from rag.index.azure.connection import Connection
from rag.index.azure.current import Current
from rag.index.azure.documents import Facts
from rag.index.azure.pages import Pages
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


@dataclass(frozen=True, slots=True)
class Parts:
    """What an index in Azure is made of; ``writes`` is whether it was opened to be written."""

    connection: Connection
    current: Current
    retriever: Retriever
    chunks: Chunks
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

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> tuple[Chunk, ...]:
        async def page(facts: Facts) -> tuple[Chunk, ...]:
            return await self._parts.chunks.of_page(facts.index, (tenant, space, page_id), readers)

        return await self._parts.current.used(page)

    async def chunks(
        self, tenant: str, ids: Collection[str], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        """Return by id the chunks that are there and may be read."""

        async def chunks(facts: Facts) -> Mapping[str, Chunk]:
            return await self._parts.chunks.by_id(facts.index, tenant, ids, readers)

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

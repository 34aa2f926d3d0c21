"""Open the index in Azure AI Search from the settings, or rebuild it as its next version.

A rebuild fills the next version while the current one serves queries, and then replaces it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from rag.config import SearchSettings
from rag.errors import IndexMismatch, IndexUnavailable
from rag.index.azure.catalogue import SETTLED_SECONDS, Catalogue, ChunkReader
from rag.index.azure.connection import Connection, Credential, IndexAbsent, credential_of
from rag.index.azure.documents import CHUNK, Facts
from rag.index.azure.queries import count, equals
from rag.index.azure.retriever import Reranker, Retriever
from rag.index.azure.schema import SCHEMA
from rag.index.azure.terms import Terms
from rag.index.azure.versions import REFRESH_SECONDS, CurrentIndex, Versions
from rag.index.azure.writer import BatchWriter, PageWriter
from rag.index.hybrid_search import FusionWeights
from rag.ports import Vocabulary
from rag.retrying import RetryPolicy
from rag.text.spelling import Spelling
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
    TokenSigns,
    Vectors,
    check_page,
)


@dataclass(frozen=True, slots=True)
class IndexParts:
    """The components of an Azure index; ``writes`` is whether it was opened for writing."""

    connection: Connection
    current: CurrentIndex
    retriever: Retriever
    terms: Terms
    chunks: ChunkReader
    catalogue: Catalogue
    pages: PageWriter
    versions: Versions
    writes: bool


class AzureIndex:
    """An index in Azure AI Search. Implements ``rag.ports.SearchIndex``.

    The service has no transactions: while a page is being replaced, a query may find old and new
    chunks, each with the readers that it had. Writes become visible with a delay, so nothing is
    read back. A kill leaves a page that the next run writes again.
    """

    def __init__(self, parts: IndexParts, expected: Fingerprint | None) -> None:
        self._parts = parts
        self._chunks, self._catalogue = parts.chunks, parts.catalogue
        self._run = parts.current.run
        self._expected = expected
        self._claimed = False

    async def search(
        self, question: Question, readers: frozenset[Principal], k: int
    ) -> tuple[Passage, ...]:
        retriever = self._parts.retriever
        return await self._run(lambda facts: retriever.search(facts, question, readers, k))

    async def vocabulary(
        self, question: Question, readers: frozenset[Principal], words: Sequence[str]
    ) -> Vocabulary | None:
        """Return None: the service does not count words."""

    async def similar_words(
        self, question: Question, readers: frozenset[Principal], words: Sequence[str]
    ) -> Mapping[str, tuple[Spelling, ...]]:
        """Return what is spelt alike; counts are of the chunks that were read: see Terms."""
        terms = self._parts.terms
        return await self._run(lambda facts: terms.similar(facts, question, readers, words))

    async def name_in(
        self, question: Question, readers: frozenset[Principal], words: Sequence[str]
    ) -> frozenset[str]:
        terms = self._parts.terms
        return await self._run(lambda facts: terms.name_in(facts, question, readers, words))

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> tuple[Chunk, ...]:
        place = (tenant, space, page_id)
        return await self._run(lambda facts: self._chunks.of_page(facts.index, place, readers))

    async def chunks(
        self, tenant: str, ids: Collection[str], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        """Return by id the chunks that exist and may be read."""
        return await self._run(lambda facts: self._chunks.by_id(facts.index, tenant, ids, readers))

    async def upsert_page(
        self,
        page: Page,
        chunks: Sequence[Chunk],
        vectors: Vectors | None,
        tokens: Sequence[TokenSigns] | None = None,
    ) -> None:
        """Replace a page and its chunks, not atomically: see the class. ``tokens`` are ignored."""
        dimensions = self._expected.dimensions if self._expected else 0
        check_page(page, chunks, vectors, tokens, dimensions)
        await self._claim()
        pages = self._parts.pages
        await self._run(lambda facts: pages.replace(facts.index, page, chunks, vectors))

    async def delete_pages(self, tenant: str, space: str, page_ids: Collection[str]) -> int:
        pages = self._parts.pages
        return await self._run(lambda facts: pages.delete(facts.index, tenant, space, page_ids))

    async def set_readers(self, tenant: str, space: str, page_id: str, readers: Readers) -> None:
        pages, place = self._parts.pages, (tenant, space, page_id)
        await self._run(lambda facts: pages.set_readers(facts.index, place, readers))

    async def pages(self, tenant: str, space: str) -> Mapping[str, Page]:
        return await self._run(lambda facts: self._catalogue.pages(facts.index, tenant, space))

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        return await self._run(
            lambda facts: self._catalogue.chunks_by_space(facts.index, tenant, None)
        )

    async def tenants(self) -> Mapping[str, int]:
        """Return the number of pages of each tenant; all share one index."""
        return await self._run(lambda facts: self._catalogue.pages_by_tenant(facts.index))

    async def fingerprint(self) -> Fingerprint | None:
        async def fingerprint(facts: Facts) -> Fingerprint | None:
            held = await self._catalogue.has_pages(facts.index)
            return facts.fingerprint if held else None

        return await self._run(fingerprint)

    async def space_summaries(
        self, tenant: str, readers: frozenset[Principal] | None
    ) -> tuple[SpaceSummary, ...]:
        return await self._run(
            lambda facts: self._catalogue.space_summaries(facts.index, tenant, readers)
        )

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
        return await self._run(
            lambda facts: self._catalogue.page_summaries(
                facts.index, (tenant, space), readers, words=words, after=after, limit=limit
            )
        )

    async def page_summary(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        place = (tenant, space, page_id)
        return await self._run(
            lambda facts: self._catalogue.page_summary(facts.index, place, readers)
        )

    async def page_at(
        self, tenant: str, urls: Sequence[str], readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        return await self._run(
            lambda facts: self._catalogue.page_at(facts.index, tenant, urls, readers)
        )

    async def revision(
        self, tenant: str, spaces: frozenset[str] | None, readers: frozenset[Principal]
    ) -> str | None:
        """Return the token of some spaces for exactly these principals: see ``revision_token``.

        The service can't list who reads what, so only readers with the same principals share it.
        """
        return await self._run(
            lambda facts: self._catalogue.revision(facts.index, (tenant, spaces), readers)
        )

    async def close(self) -> None:
        """Close the connections and the credential."""
        await self._parts.connection.close()

    async def _claim(self) -> None:
        """Record which embedder's vectors the index holds. Raises IndexMismatch for another's."""
        if self._expected is None or self._claimed:
            return
        if not self._parts.writes:
            raise IndexUnavailable("This index in Azure AI Search was opened to be read only.")
        current = self._parts.current
        facts = await current.facts()
        current.cache(await self._parts.versions.claim(current.name, facts, self._expected))
        self._claimed = True


_VISIBLE_WITHIN_SECONDS = 60.0
_POLL_SECONDS = 0.5


class Rebuild:
    """A rebuild in progress: ``index`` takes the pages; ``finish`` makes them current."""

    def __init__(self, name: str, begun: Facts, parts: IndexParts) -> None:
        self.index = AzureIndex(parts, begun.fingerprint)
        self._name = name
        self._begun = begun
        self._parts = parts

    async def finish(self, *, visible_within_seconds: float = _VISIBLE_WITHIN_SECONDS) -> str:
        """Switch the name to the new version; return the new version's own name.

        The former one is deleted when somebody opens the index for writing ten minutes later.

        Raises:
            IndexUnavailable: Not everything written is visible, or there are no pages where there
                were some. The former version stays current.
        """
        await self._wait_until_visible(visible_within_seconds)
        current = await self._parts.versions.current(self._name)
        new, former = self._begun.index, current.index
        catalogue = self._parts.catalogue
        if await catalogue.has_pages(former) and not await catalogue.has_pages(new):
            raise IndexUnavailable(
                f"The new version {new!r} holds no pages, but {former!r} does; it stays as it is."
            )
        return (await self._parts.versions.finish(self._name, self._begun)).index

    async def close(self) -> None:
        await self.index.close()

    async def _wait_until_visible(self, seconds: float) -> None:
        """Wait until as many chunks are visible as the page documents count."""
        ends = asyncio.get_running_loop().time() + seconds
        while True:
            recorded = await self._parts.catalogue.recorded_chunks(self._begun.index)
            found = await count(self._parts.connection, self._begun.index, equals("kind", CHUNK))
            if recorded == found:
                return
            if asyncio.get_running_loop().time() >= ends:
                raise IndexUnavailable(
                    f"The new version {self._begun.index!r} holds {found} chunks, but its pages "
                    f"have {recorded}. Run the rebuild again; the former version stays as it is."
                )
            await asyncio.sleep(_POLL_SECONDS)


@dataclass(frozen=True, slots=True)
class Opening:
    """Options beyond the settings; ``policy`` None uses the default retry policy.

    ``settled_seconds`` is as in Catalogue.

    ``may_be_absent``: a missing index raises only when it is used, so that a server can start
    before the first ingestion run. ``authority`` is the CA file for the service's certificate.
    """

    credential: Credential | None = None
    policy: RetryPolicy | None = None
    refresh_seconds: float = REFRESH_SECONDS
    settled_seconds: float = SETTLED_SECONDS
    may_be_absent: bool = False
    authority: str | None = None


async def open_azure_index(
    settings: SearchSettings,
    expected: Fingerprint | None,
    *,
    create: bool,
    opening: Opening | None = None,
) -> AzureIndex:
    """Open the index that AZURE_SEARCH_* name; closing it closes the credential too.

    Args:
        settings: The index and its ranking options.
        expected: What it must have been built with; None to use keywords alone.
        create: Create it where it is missing, and open it for writing; this needs the role `Search
            Service Contributor`. Otherwise the role `Search Index Data Reader` is enough.
        opening: Options beyond the settings.

    Raises:
        IndexMismatch: It was built with another embedder or schema, or is not Frontdesk's.
        IndexUnavailable: It cannot be reached, or does not exist.
    """
    _check_schema(expected)
    opening = opening or Opening()
    parts = _build_parts(settings, expected, opening)
    index = AzureIndex(replace(parts, writes=create), expected)
    try:
        if create:
            created = await parts.versions.create(settings.azure_search_index, expected)
            parts.current.use_until_read(created)
        await parts.current.facts()
    except IndexAbsent:
        if not opening.may_be_absent:
            await index.close()
            raise
    except BaseException:
        await index.close()
        raise
    return index


async def open_azure_rebuild(
    settings: SearchSettings, expected: Fingerprint, *, opening: Opening | None = None
) -> Rebuild:
    """Open the next version of the index, to be filled while the current one serves queries.

    Raises IndexUnavailable, including IndexAbsent when there is no index to rebuild.
    """
    _check_schema(expected)
    name = settings.azure_search_index
    parts = _build_parts(settings, expected, opening or Opening())
    try:
        begun = await parts.versions.begin(name, expected)
    except BaseException:
        await parts.connection.close()
        raise
    current = CurrentIndex(parts.connection, begun.index, expected)
    current.cache(begun)
    return Rebuild(name, begun, replace(parts, current=current))


def _check_schema(expected: Fingerprint | None) -> None:
    if expected is not None and expected.schema != SCHEMA:
        raise IndexMismatch(
            f"Schema {expected.schema!r} was asked for, this program has {SCHEMA!r} in Azure."
        )


def _build_parts(
    settings: SearchSettings, expected: Fingerprint | None, opening: Opening
) -> IndexParts:
    connection = _connection(settings, opening)
    writer = BatchWriter(connection, opening.policy)
    name = settings.azure_search_index
    return IndexParts(
        connection=connection,
        current=CurrentIndex(connection, name, expected, refresh_seconds=opening.refresh_seconds),
        retriever=Retriever(
            connection, Reranker(wanted=settings.azure_search_semantic), FusionWeights()
        ),
        terms=Terms(connection),
        chunks=ChunkReader(connection),
        catalogue=Catalogue(connection, opening.settled_seconds),
        pages=PageWriter(connection, writer),
        versions=Versions(connection, writer, settings.azure_search_quantization),
        writes=True,
    )


def _connection(settings: SearchSettings, opening: Opening) -> Connection:
    endpoint = settings.azure_search_endpoint
    if endpoint is None:
        raise IndexUnavailable("AZURE_SEARCH_ENDPOINT is not set.")
    return Connection(
        endpoint,
        opening.credential or credential_of(endpoint, settings.azure_search_key),
        timeout_seconds=settings.azure_search_timeout_seconds,
        policy=opening.policy,
        authority=opening.authority,
    )

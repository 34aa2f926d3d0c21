"""Open the index in one SQLite file, and run its reads and writes off the event loop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from rag.errors import IndexMismatch, IndexUnavailable
from rag.index.embedded import writes
from rag.index.embedded.catalogue import Catalogue
from rag.index.embedded.queries import Reader
from rag.index.embedded.schema import SCHEMA, connect, snapshot, transaction, translate_errors
from rag.index.hybrid_search import FusionWeights
from rag.ports import Embedder, Vocabulary
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

Result = TypeVar("Result")


class EmbeddedIndex:
    """An index in one SQLite file.

    Implements ``rag.ports.SearchIndex``. Reads and writes have a thread and a connection each:
    SQLite never runs on the event loop, a search never waits for a write, and each sees one state.
    Any number of processes may open the file; writers take turns.
    """

    def __init__(
        self,
        path: Path,
        connections: tuple[sqlite3.Connection, sqlite3.Connection],
        expected: Fingerprint | None,
        weights: FusionWeights,
    ) -> None:
        self._path = path
        self._reading, self._writing = connections
        self._expected = expected
        self._dimensions = expected.dimensions if expected else 0
        self._reader = Reader(self._reading, self._dimensions, weights)
        self._catalogue = Catalogue(self._reading)
        self._reads = ThreadPoolExecutor(1, thread_name_prefix="index-read")
        self._writes = ThreadPoolExecutor(1, thread_name_prefix="index-write")

    async def search(
        self, question: Question, readers: frozenset[Principal], k: int
    ) -> tuple[Passage, ...]:
        return await self._read(lambda: self._reader.search(question, readers, k))

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> tuple[Chunk, ...]:
        """Return a page's chunks in order; empty when it is missing or may not be read."""
        return await self._read(lambda: self._reader.page(tenant, space, page_id, readers))

    async def chunks(
        self, tenant: str, ids: Collection[str], readers: frozenset[Principal]
    ) -> Mapping[str, Chunk]:
        """Return by id the chunks that exist and may be read."""
        return await self._read(lambda: self._reader.chunks(tenant, ids, readers))

    async def pages(self, tenant: str, space: str) -> Mapping[str, Page]:
        return await self._read(lambda: self._reader.pages(tenant, space))

    async def spaces(self, tenant: str) -> Mapping[str, int]:
        return await self._read(lambda: self._reader.spaces(tenant))

    async def fingerprint(self) -> Fingerprint | None:
        return await self._read(lambda: self._reader.fingerprint(SCHEMA))

    async def revision(
        self, tenant: str, spaces: frozenset[str] | None, readers: frozenset[Principal]
    ) -> str:
        return await self._read(lambda: self._reader.revision(tenant, spaces, readers))

    async def vocabulary(
        self, question: Question, readers: frozenset[Principal], words: Sequence[str]
    ) -> Vocabulary:
        return await self._read(lambda: self._reader.vocabulary(question, readers, words))

    async def similar_words(
        self, question: Question, readers: frozenset[Principal], words: Sequence[str]
    ) -> Mapping[str, tuple[Spelling, ...]]:
        return await self._read(lambda: self._reader.similar_words(question, readers, words))

    async def name_in(
        self, question: Question, readers: frozenset[Principal], words: Sequence[str]
    ) -> frozenset[str]:
        return await self._read(lambda: self._reader.name_in(question, readers, words))

    async def space_summaries(
        self, tenant: str, readers: frozenset[Principal] | None
    ) -> tuple[SpaceSummary, ...]:
        return await self._read(lambda: self._catalogue.spaces(tenant, readers))

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
        def ask() -> tuple[PageSummary, ...]:
            return self._catalogue.pages(
                tenant, space, readers, words=words, after=after, limit=limit
            )

        return await self._read(ask)

    async def page_summary(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        return await self._read(lambda: self._catalogue.page(tenant, space, page_id, readers))

    async def page_at(
        self, tenant: str, urls: Sequence[str], readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        return await self._read(lambda: self._catalogue.page_at(tenant, urls, readers))

    async def upsert_page(
        self,
        page: Page,
        chunks: Sequence[Chunk],
        vectors: Vectors | None,
        tokens: Sequence[TokenSigns] | None = None,
    ) -> None:
        check_page(page, chunks, vectors, tokens, self._dimensions)

        def upsert() -> None:
            writes.claim_fingerprint(self._writing, self._expected)
            writes.upsert_page(self._writing, page, chunks, vectors, tokens)

        await self._write(upsert)

    async def delete_pages(self, tenant: str, space: str, page_ids: Collection[str]) -> int:
        return await self._write(
            lambda: writes.delete_pages(self._writing, tenant, space, page_ids)
        )

    async def set_readers(self, tenant: str, space: str, page_id: str, readers: Readers) -> None:
        page = Page(tenant=tenant, space=space, id=page_id, version="", readers=readers)
        await self._write(lambda: writes.set_readers(self._writing, page))

    async def erase_removals(self) -> None:
        """Leave no word of a removed page in the file; slow, for the word index is rewritten."""
        await self._write(lambda: writes.rewrite_words(self._writing))
        await self._run(self._writes, lambda: writes.truncate_log(self._writing))

    async def warm(self) -> None:
        """Load the vectors into memory, so that the first search is fast.

        Raises IndexMismatch when the index holds another embedder's.
        """
        kept = await self.fingerprint()
        if kept and kept.embedder and self._expected and kept != self._expected:
            raise writes.index_mismatch(kept, self._expected)
        await self._read(self._reader.refresh)

    async def close(self) -> None:
        """Finish pending operations and close the file."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._reads.shutdown()
        self._writes.shutdown()
        self._reading.close()
        self._writing.close()

    async def _read(self, ask: Callable[[], Result]) -> Result:
        def work() -> Result:
            with translate_errors(self._path), snapshot(self._reading):
                return ask()

        return await self._run(self._reads, work)

    async def _write(self, change: Callable[[], Result]) -> Result:
        def work() -> Result:
            with translate_errors(self._path), transaction(self._writing):
                return change()

        return await self._run(self._writes, work)

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
        try:
            pending = threads.submit(work)
        except RuntimeError as error:
            raise IndexUnavailable(f"The index {str(self._path)!r} is closed.") from error
        return await asyncio.wrap_future(pending)


def fingerprint_of(embedder: Embedder) -> Fingerprint:
    """Return the fingerprint of an index built with this embedder by this program."""
    return Fingerprint(embedder.name, embedder.dimensions, SCHEMA)


async def open_index(
    path: Path, expected: Fingerprint | None, *, weights: FusionWeights | None = None
) -> EmbeddedIndex:
    """Open the index, created when it is missing, ready to search.

    Args:
        path: The file; its directory must exist.
        expected: What the index must have been built with; None to use keywords alone.
        weights: The fusion weights of the searches.

    Raises:
        IndexMismatch: It was built with another embedder or schema.
        IndexUnavailable: The file cannot be used, or is no index.
    """
    if expected and expected.schema != SCHEMA:
        raise IndexMismatch(
            f"Schema {expected.schema!r} was asked for, this program has {SCHEMA!r}."
        )
    connections = await asyncio.to_thread(_connect_reader_and_writer, path)
    index = EmbeddedIndex(path, connections, expected, weights or FusionWeights())
    try:
        await index.warm()
    except BaseException:
        await index.close()
        raise
    return index


def _connect_reader_and_writer(path: Path) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    with translate_errors(path):
        reading = connect(path)
        try:
            return reading, connect(path)
        except BaseException:
            reading.close()
            raise

"""Convert, embed and index pages concurrently, in bounded memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ingestion.documents.chunker import ChunkSizes, PageLocation, chunk_document
from ingestion.errors import PageUnreadable
from ingestion.records.leases import Confirm, no_confirmation
from ingestion.sync.plan import Versions
from ingestion.types import Document, Finding, Progress, Source, SourcePage
from rag.embedding import embed_texts, embedding_text
from rag.ports import Embedder, Index
from rag.types import Chunk, Page, TokenSigns, Vectors

_BATCH = 16
_FIRST_BATCH = 4
"""Less than most pages have, so that the embedder does not wait for a second page to be read."""

_IN_FLIGHT = 4
_PREPARED = 16


@dataclass(slots=True)
class WriteResult:
    """The outcome of the pages written so far."""

    failed: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    chunks: int = 0
    embedded: int = 0


@dataclass(slots=True, eq=False)
class _Prepared:
    """A page with its chunks, and the vectors computed so far."""

    page: Page
    chunks: tuple[Chunk, ...]
    vectors: Vectors | None
    missing: int
    tokens: dict[int, TokenSigns] = field(default_factory=dict)


_Row = tuple[_Prepared, int]


class Pipeline:
    """Converts and chunks the next pages while others are embedded; each page is one upsert."""

    def __init__(
        self,
        *,
        source: Source,
        index: Index,
        embedder: Embedder | None,
        place: PageLocation,
        sizes: ChunkSizes,
        versions: Versions,
        progress: Progress,
        confirm: Confirm = no_confirmation,
    ) -> None:
        self._source = source
        self._index = index
        self._embedder = embedder
        self._place = place
        self._sizes = sizes
        self._versions = versions
        self._progress = progress
        self._confirm = confirm
        self._queue: asyncio.Queue[_Prepared | None] = asyncio.Queue(_PREPARED)
        self._slots = asyncio.Semaphore(_IN_FLIGHT)
        self.written = WriteResult()

    async def write(self, pages: Sequence[SourcePage]) -> WriteResult:
        """Write all pages. Raises the first error of index or embedder; pages written stay."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._prepare_all(pages, tasks))
                tasks.create_task(self._embed_all(tasks))
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from group
        return self.written

    async def _prepare_all(self, pages: Sequence[SourcePage], tasks: asyncio.TaskGroup) -> None:
        """Read the next pages while one is chunked; their order is kept."""
        ahead: deque[tuple[SourcePage, asyncio.Task[Document | PageUnreadable]]] = deque()
        for page in pages:
            if len(ahead) == self._source.at_once:
                await self._prepare(*ahead.popleft())
            ahead.append((page, tasks.create_task(self._read(page))))
        while ahead:
            await self._prepare(*ahead.popleft())
        await self._queue.put(None)

    async def _read(self, page: SourcePage) -> Document | PageUnreadable:
        try:
            return await self._source.read(page)
        except PageUnreadable as error:
            return error

    async def _prepare(
        self, page: SourcePage, reading: asyncio.Task[Document | PageUnreadable]
    ) -> None:
        document = await reading
        if isinstance(document, PageUnreadable):
            self.written.failed.append(Finding(page.id, str(document)))
            self._progress.fail(page.id, str(document))
            self._progress.advance(pages=1)
            return
        notes = document.notes if document.blocks else (*document.notes, "has no text")
        self.written.notes += [Finding(page.id, note) for note in notes]
        chunks = await asyncio.to_thread(chunk_document, document, page, self._place, self._sizes)
        await self._queue.put(self._prepared(page, chunks))

    def _prepared(self, page: SourcePage, chunks: tuple[Chunk, ...]) -> _Prepared:
        vectors = None
        if self._embedder:
            vectors = np.zeros((len(chunks), self._embedder.dimensions), dtype=np.float32)
        stored = Page(
            tenant=self._place.tenant,
            space=self._place.space,
            id=page.id,
            version=self._versions.of(page),
            readers=page.readers,
        )
        return _Prepared(stored, chunks, vectors, missing=len(chunks))

    async def _embed_all(self, tasks: asyncio.TaskGroup) -> None:
        """Embed the texts of many pages together, so small pages cost no more than large ones."""
        rows: list[_Row] = []
        most = _FIRST_BATCH
        while (prepared := await self._queue.get()) is not None:
            if self._embedder is None or not prepared.chunks:
                await self._store(prepared)
                continue
            for row in range(len(prepared.chunks)):
                rows.append((prepared, row))
                if len(rows) == most:
                    await self._start(tasks, rows)
                    rows, most = [], _BATCH
        if rows:
            await self._start(tasks, rows)

    async def _start(self, tasks: asyncio.TaskGroup, rows: list[_Row]) -> None:
        await self._slots.acquire()
        tasks.create_task(self._embed(rows))

    async def _embed(self, rows: list[_Row]) -> None:
        try:
            if self._embedder is not None:
                texts = [embedding_text(prepared.chunks[row]) for prepared, row in rows]
                vectors, tokens = await embed_texts(self._embedder, texts)
                if tokens is not None:
                    for (prepared, row), signs in zip(rows, tokens, strict=True):
                        prepared.tokens[row] = signs
                await self._take(rows, vectors)
        finally:
            self._slots.release()

    async def _take(self, rows: Iterable[_Row], vectors: Vectors) -> None:
        done = []
        for (prepared, row), vector in zip(rows, vectors, strict=True):
            if prepared.vectors is not None:
                prepared.vectors[row] = vector
            prepared.missing -= 1
            if prepared.missing == 0:
                done.append(prepared)
        self.written.embedded += len(vectors)
        self._progress.advance(chunks=len(vectors))
        for prepared in done:
            await self._store(prepared)

    async def _store(self, prepared: _Prepared) -> None:
        tokens = [prepared.tokens[row] for row in sorted(prepared.tokens)] or None
        await self._confirm()
        await self._index.upsert_page(prepared.page, prepared.chunks, prepared.vectors, tokens)
        self.written.chunks += len(prepared.chunks)
        chunks = len(prepared.chunks) if self._embedder is None else 0
        self._progress.advance(pages=1, chunks=chunks)

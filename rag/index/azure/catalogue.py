"""List indexed spaces and pages, and read chunks by their ids or their page."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from rag.index.azure.connection import Connection
from rag.index.azure.documents import (
    CHUNK,
    CHUNK_FIELDS,
    PAGE,
    PAGE_FIELDS,
    REVISION,
    REVISION_FIELDS,
    StoredDocument,
    chunk_of,
    page_of,
    revision_token,
    summary_of,
)
from rag.index.azure.queries import (
    all_of,
    count,
    count_by_value,
    equals,
    find,
    list_documents,
    one_of,
)
from rag.index.azure.schema import readable_by
from rag.types import Chunk, Page, PageSummary, Principal, SpaceSummary

_IDS_AT_ONCE = 500
"""Number of chunks fetched per request."""


class ChunkReader:
    """Reads chunks from an index of one service, restricted to a set of readers."""

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
            chunks = await self._listed(index, all_of(of_tenant, some), readers)
            found |= {chunk.id: chunk for chunk in chunks}
        return found

    async def of_page(
        self, index: str, place: tuple[str, str, str], readers: frozenset[Principal]
    ) -> tuple[Chunk, ...]:
        """Return the chunks of a page (tenant, space, id) in order."""
        tenant, space, page_id = place
        of_page = all_of(
            equals("tenant", tenant), equals("space", space), equals("page_id", page_id)
        )
        chunks = await self._listed(index, of_page, readers)
        return tuple(sorted(chunks, key=lambda chunk: chunk.ordinal))

    async def _listed(
        self, index: str, condition: str, readers: frozenset[Principal]
    ) -> list[Chunk]:
        whole = all_of(equals("kind", CHUNK), condition, readable_by(readers))
        documents = list_documents(self._connection, index, whole, select=CHUNK_FIELDS, order="id")
        return [chunk_of(document) async for document in documents]


_MOST_WORDS = 10

SETTLED_SECONDS = 60.0
"""A write becomes visible in seconds, in one replica of the service after the other."""

Principals = frozenset[Principal] | None
"""Principals of the user; None sees everything."""


class Catalogue:
    """Lists spaces and pages of an index of one service.

    What was written ``settled_seconds`` ago, by its writer's clock, every search sees.
    """

    def __init__(self, connection: Connection, settled_seconds: float = SETTLED_SECONDS) -> None:
        self._connection = connection
        self._settling = timedelta(seconds=settled_seconds)

    async def revision(
        self,
        index: str,
        place: tuple[str, frozenset[str] | None],
        readers: frozenset[Principal],
    ) -> str | None:
        """Return the token of a tenant's spaces (None: all) for readers (``revision_token``)."""
        tenant, spaces = place
        if spaces is not None and not spaces:
            return None
        condition = all_of(
            equals("kind", REVISION),
            equals("tenant", tenant),
            None if spaces is None else one_of("space", spaces),
        )
        found = list_documents(
            self._connection, index, condition, select=REVISION_FIELDS, order="id"
        )
        before = datetime.now(UTC) - self._settling
        return revision_token(index, [each async for each in found], readers, before)

    async def has_pages(self, index: str) -> bool:
        return await count(self._connection, index, equals("kind", PAGE)) > 0

    async def recorded_chunks(self, index: str) -> int:
        """Return the total number of chunks according to the page documents."""
        pages = list_documents(
            self._connection, index, equals("kind", PAGE), select=("id", "chunks"), order="id"
        )
        return sum([document["chunks"] async for document in pages])

    async def pages(self, index: str, tenant: str, space: str) -> dict[str, Page]:
        pages = self._list_pages(index, _readable(PAGE, tenant, None, space))
        return {document["page_id"]: page_of(document) async for document in pages}

    async def pages_by_tenant(self, index: str) -> Mapping[str, int]:
        return await count_by_value(self._connection, index, equals("kind", PAGE), "tenant")

    async def chunks_by_space(self, index: str, tenant: str, seen: Principals) -> Mapping[str, int]:
        by_space = await count_by_value(
            self._connection, index, _readable(CHUNK, tenant, seen), "space"
        )
        return dict(sorted(by_space.items()))

    async def space_summaries(
        self, index: str, tenant: str, seen: Principals
    ) -> tuple[SpaceSummary, ...]:
        """Return the summary of each space; where sources mix, with the most frequent one."""
        condition = _readable(PAGE, tenant, seen)
        pages = await count_by_value(self._connection, index, condition, "space")
        sources = await self._sources(index, condition)
        chunks = await self.chunks_by_space(index, tenant, seen)
        return tuple(
            SpaceSummary(space, pages[space], chunks.get(space, 0), sources.get(space, ""))
            for space in sorted(pages)
        )

    async def page_summaries(
        self,
        index: str,
        place: tuple[str, str],
        seen: Principals,
        *,
        words: str,
        after: str,
        limit: int,
    ) -> tuple[PageSummary, ...]:
        """Return pages of a tenant's space by id.

        The service matches whole words only, so ``words`` are matched here as substrings.
        """
        wanted = words.lower().split()[:_MOST_WORDS]
        condition = _readable(PAGE, place[0], seen, place[1])
        found: list[PageSummary] = []
        if limit < 1:
            return ()
        async for document in self._list_pages(index, condition, after):
            if _holds(document, wanted):
                found.append(summary_of(document))
            if len(found) == limit:
                break
        return tuple(found)

    async def page_summary(
        self, index: str, place: tuple[str, str, str], seen: Principals
    ) -> PageSummary | None:
        tenant, space, page_id = place
        condition = all_of(_readable(PAGE, tenant, seen, space), equals("page_id", page_id))
        document = await self._first(index, condition, PAGE_FIELDS)
        return None if document is None else summary_of(document)

    async def page_at(
        self, index: str, tenant: str, urls: Sequence[str], seen: Principals
    ) -> PageSummary | None:
        for url in urls:
            condition = all_of(_readable(CHUNK, tenant, seen), equals("url", url))
            chunk = await self._first(index, condition, ("space", "page_id"))
            if chunk is not None:
                return await self.page_summary(
                    index, (tenant, chunk["space"], chunk["page_id"]), seen
                )
        return None

    async def _sources(self, index: str, condition: str) -> dict[str, str]:
        """Return the most frequent source of each space's pages."""
        kinds = await count_by_value(self._connection, index, condition, "source_type")
        seen: dict[str, Counter[str]] = {}
        for kind in sorted(filter(None, kinds)):
            narrowed = all_of(condition, equals("source_type", kind))
            for space, pages in (
                await count_by_value(self._connection, index, narrowed, "space")
            ).items():
                seen.setdefault(space, Counter())[kind] = pages
        return {space: kinds.most_common(1)[0][0] for space, kinds in seen.items()}

    async def _first(
        self, index: str, condition: str, select: Sequence[str]
    ) -> StoredDocument | None:
        found = await find(
            self._connection,
            index,
            search_text="*",
            filter=condition,
            select=[*select],
            order_by=["space", "page_id"],
            top=1,
        )
        return found.documents[0] if found.documents else None

    def _list_pages(
        self, index: str, condition: str, after: str = ""
    ) -> AsyncIterator[StoredDocument]:
        return list_documents(
            self._connection, index, condition, select=PAGE_FIELDS, order="page_id", after=after
        )


def _readable(kind: str, tenant: str, seen: Principals, space: str | None = None) -> str:
    return all_of(
        equals("kind", kind),
        equals("tenant", tenant),
        None if space is None else equals("space", space),
        None if seen is None else readable_by(seen),
    )


def _holds(document: StoredDocument, words: Sequence[str]) -> bool:
    told = (document["page_id"].lower(), document["page_title"].lower())
    return all(any(word in one for one in told) for word in words)

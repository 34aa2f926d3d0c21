"""What the index holds, page by page, without its text: the documents of pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence

from rag.index.azure.connection import Connection
from rag.index.azure.documents import CHUNK, PAGE, PAGE_FIELDS, Read, page_of, summary_of
from rag.index.azure.filters import both, equals
from rag.index.azure.permissions import readable_by
from rag.index.azure.queries import count, counts, find, listed
from rag.types import Page, PageSummary, Principal, SpaceSummary

_MOST_WORDS = 10

Seen = frozenset[Principal] | None
"""Who looks; None sees everything."""


class Catalogue:
    """Lists one service's indexes; each method is told which one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def holds_pages(self, index: str) -> bool:
        return await count(self._connection, index, equals("kind", PAGE)) > 0

    async def chunks_said(self, index: str) -> int:
        """Return how many chunks all pages of the index are said to have."""
        pages = listed(
            self._connection, index, equals("kind", PAGE), select=("id", "chunks"), order="id"
        )
        return sum([document["chunks"] async for document in pages])

    async def all_pages(self, index: str, tenant: str, space: str) -> dict[str, Page]:
        pages = self._pages(index, _seen(PAGE, tenant, None, space))
        return {document["page_id"]: page_of(document) async for document in pages}

    async def pages_by_tenant(self, index: str) -> Mapping[str, int]:
        return await counts(self._connection, index, equals("kind", PAGE), "tenant")

    async def chunks_by_space(self, index: str, tenant: str, seen: Seen) -> Mapping[str, int]:
        by_space = await counts(self._connection, index, _seen(CHUNK, tenant, seen), "space")
        return dict(sorted(by_space.items()))

    async def spaces(self, index: str, tenant: str, seen: Seen) -> tuple[SpaceSummary, ...]:
        """Return what there is of each space; where sources mix, its commonest one."""
        condition = _seen(PAGE, tenant, seen)
        pages = await counts(self._connection, index, condition, "space")
        sources = await self._sources(index, condition)
        chunks = await self.chunks_by_space(index, tenant, seen)
        return tuple(
            SpaceSummary(space, pages[space], chunks.get(space, 0), sources.get(space, ""))
            for space in sorted(pages)
        )

    async def summaries(
        self,
        index: str,
        place: tuple[str, str],
        seen: Seen,
        *,
        words: str,
        after: str,
        limit: int,
    ) -> tuple[PageSummary, ...]:
        """Return pages of a tenant's space by id.

        The service finds words, not parts of them: with ``words`` the pages are gone through here.
        """
        wanted = words.lower().split()[:_MOST_WORDS]
        condition = _seen(PAGE, place[0], seen, place[1])
        found: list[PageSummary] = []
        if limit < 1:
            return ()
        async for document in self._pages(index, condition, after):
            if _holds(document, wanted):
                found.append(summary_of(document))
            if len(found) == limit:
                break
        return tuple(found)

    async def summary(
        self, index: str, place: tuple[str, str, str], seen: Seen
    ) -> PageSummary | None:
        tenant, space, page_id = place
        condition = both(_seen(PAGE, tenant, seen, space), equals("page_id", page_id))
        document = await self._first(index, condition, PAGE_FIELDS)
        return None if document is None else summary_of(document)

    async def at(
        self, index: str, tenant: str, urls: Sequence[str], seen: Seen
    ) -> PageSummary | None:
        for url in urls:
            condition = both(_seen(CHUNK, tenant, seen), equals("url", url))
            chunk = await self._first(index, condition, ("space", "page_id"))
            if chunk is not None:
                return await self.summary(index, (tenant, chunk["space"], chunk["page_id"]), seen)
        return None

    async def _sources(self, index: str, condition: str) -> dict[str, str]:
        """Return the commonest source of each space's pages."""
        kinds = await counts(self._connection, index, condition, "source_type")
        seen: dict[str, Counter[str]] = {}
        for kind in sorted(filter(None, kinds)):
            narrowed = both(condition, equals("source_type", kind))
            for space, pages in (await counts(self._connection, index, narrowed, "space")).items():
                seen.setdefault(space, Counter())[kind] = pages
        return {space: kinds.most_common(1)[0][0] for space, kinds in seen.items()}

    async def _first(self, index: str, condition: str, select: Sequence[str]) -> Read | None:
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

    def _pages(self, index: str, condition: str, after: str = "") -> AsyncIterator[Read]:
        return listed(
            self._connection, index, condition, select=PAGE_FIELDS, order="page_id", after=after
        )


def _seen(kind: str, tenant: str, seen: Seen, space: str | None = None) -> str:
    return both(
        equals("kind", kind),
        equals("tenant", tenant),
        None if space is None else equals("space", space),
        None if seen is None else readable_by(seen),
    )


def _holds(document: Read, words: Sequence[str]) -> bool:
    told = (document["page_id"].lower(), document["page_title"].lower())
    return all(any(word in one for one in told) for word in words)

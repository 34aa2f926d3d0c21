"""Questions to one index as the service takes them, and what comes back, read to the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from azure.core.pipeline import PipelineResponse
from azure.search.documents.aio import SearchClient

from rag.errors import IndexUnavailable
from rag.index.azure.connection import Connection
from rag.index.azure.documents import Read
from rag.index.azure.errors import NOT_ACCEPTED, Refused, foreign
from rag.index.azure.filters import both, text
from rag.retrying import RetryPolicy

PAGE_SIZE = 1000
"""The most documents that come at once."""

MOST_SKIPPED = 100_000
"""The most documents of a list that the service leaves out before those that it shows."""

MOST_FACETS = 10_000
"""The most values of a field that are counted."""

_PARTIAL = 206
_REASON = "@search.semanticPartialResponseReason"


@dataclass(slots=True)
class Found:
    """Documents in order; ``partial`` is why the semantic ranker did not see them all, else ""."""

    documents: list[Read] = field(default_factory=list)
    partial: str = ""


class _Paged(Protocol):
    """What the SDK's pages of results are, beyond what it says of them."""

    async def __anext__(self) -> AsyncIterator[Read]: ...

    async def get_count(self) -> int | None: ...

    async def get_facets(self) -> Mapping[str, Sequence[Mapping[str, Any]]] | None: ...


async def find(
    connection: Connection,
    index: str,
    *,
    policy: RetryPolicy | None = None,
    seconds: float | None = None,
    **parts: object,
) -> Found:
    """Return the documents of one search; ``parts`` are those of the SDK's ``search``.

    ``policy`` and ``seconds`` are those of Connection.call.
    """

    async def ask() -> Found:
        found = Found()

        def note(response: PipelineResponse[Any, Any]) -> None:
            if response.http_response.status_code == _PARTIAL:
                found.partial = str(response.http_response.json().get(_REASON) or "partial")

        paged = await _paged(connection.documents(index), raw_response_hook=note, **parts)
        while (page := await _next(paged)) is not None:
            found.documents += [document async for document in page]
        return found

    return await connection.call(index, ask, seconds=seconds, policy=policy)


async def listed(
    connection: Connection,
    index: str,
    condition: str,
    *,
    select: Sequence[str],
    order: str,
    after: str = "",
) -> AsyncIterator[Read]:
    """Yield all documents that meet a condition, ordered by a text field that tells them apart.

    Only those after a value of that field, where one is given. Raises IndexUnavailable also where
    there are more than the service shows.
    """
    asked = _Listing(connection, index, condition, select, order)
    last, skip = after, 0
    while True:
        documents = await asked.further(last, skip)
        for document in documents:
            if not after or str(document[order]) > after:
                yield document
        if len(documents) < PAGE_SIZE:
            return
        last = str(documents[-1][order])
        skip += PAGE_SIZE


@dataclass(frozen=True, slots=True)
class _Listing:
    """What ``listed`` asks for, part by part."""

    connection: Connection
    index: str
    condition: str
    select: Sequence[str]
    order: str

    async def further(self, last: str, skip: int) -> Sequence[Read]:
        """Return the next documents: those after the last one, or after so many.

        Whether the service compares texts by order is not documented, so the first answer decides
        for the connection. What is written meanwhile may shift a list that is read by number.
        """
        if last and self.connection.compares_texts:
            beyond = f"{self.order} gt {text(last)}"
            try:
                return await self._find(both(self.condition, beyond))
            except Refused as error:
                if error.status != NOT_ACCEPTED:
                    raise
        if skip > MOST_SKIPPED:
            raise IndexUnavailable(
                "Azure AI Search compares no texts by order, and shows no more than "
                f"{MOST_SKIPPED + PAGE_SIZE:,} documents of a list without that. Read less into "
                "one space (CONFLUENCE_LABELS, CONFLUENCE_ANCESTORS)."
            )
        documents = await self._find(self.condition, skip)
        if last:
            self.connection.compares_texts = False
        return documents

    async def _find(self, condition: str, skip: int = 0) -> Sequence[Read]:
        found = await find(
            self.connection,
            self.index,
            search_text="*",
            filter=condition,
            select=[*self.select],
            order_by=[self.order],
            skip=skip,
            top=PAGE_SIZE,
        )
        return found.documents


async def count(connection: Connection, index: str, condition: str) -> int:
    """Return how many documents meet a condition."""

    async def ask() -> int:
        paged = await _paged(
            connection.documents(index),
            search_text="*",
            filter=condition,
            include_total_count=True,
            top=0,
        )
        await _next(paged)
        return await paged.get_count() or 0

    return await connection.call(index, ask)


async def counts(connection: Connection, index: str, condition: str, by: str) -> Mapping[str, int]:
    """Return how many documents meet a condition, by the value of a field."""

    async def ask() -> Mapping[str, int]:
        paged = await _paged(
            connection.documents(index),
            search_text="*",
            filter=condition,
            facets=[f"{by},count:{MOST_FACETS}"],
            top=0,
        )
        await _next(paged)
        facets = (await paged.get_facets() or {}).get(by, [])
        return {str(facet["value"]): int(facet["count"]) for facet in facets}

    return await connection.call(index, ask)


async def _paged(client: SearchClient, **parts: object) -> _Paged:
    typed: dict[str, Any] = parts
    results = await client.search(**typed)
    return cast("_Paged", results.by_page())


async def _next(paged: _Paged) -> AsyncIterator[Read] | None:
    """Return the next page of results, or None after the last.

    Fetched before it is asked for its counts: the SDK would search twice otherwise.
    """
    try:
        return await anext(paged)
    except StopAsyncIteration:
        return None
    except TypeError:
        # The SDK's own, over JSON that has no results in it.
        raise foreign() from None

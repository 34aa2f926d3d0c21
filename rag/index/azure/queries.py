"""Questions to one index as the service takes them, and what comes back, read to the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from azure.core.pipeline import PipelineResponse
from azure.search.documents.aio import SearchClient

from rag.index.azure.connection import Connection
from rag.index.azure.documents import Read
from rag.index.azure.errors import foreign
from rag.index.azure.filters import both, text
from rag.retrying import RetryPolicy

PAGE_SIZE = 1000
"""The most documents that come at once."""

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
    connection: Connection, index: str, condition: str, *, select: Sequence[str], order: str
) -> AsyncIterator[Read]:
    """Yield all documents that meet a condition, ordered by a field that tells them apart."""
    last: str | None = None
    while True:
        beyond = None if last is None else f"{order} gt {last}"
        found = await find(
            connection,
            index,
            search_text="*",
            filter=both(condition, beyond),
            select=[*select],
            order_by=[order],
            top=PAGE_SIZE,
        )
        for document in found.documents:
            yield document
        if len(found.documents) < PAGE_SIZE:
            return
        last = text(str(found.documents[-1][order]))


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

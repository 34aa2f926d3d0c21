"""Build OData filters, and run searches, lists and counts against one index, reading all pages.

Filters escape every value, so that none is interpreted as a condition.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from azure.core.pipeline import PipelineResponse
from azure.search.documents.aio import SearchClient

from rag.errors import IndexUnavailable
from rag.index.azure.connection import BAD_REQUEST, Connection, RequestRefused, unexpected_answer
from rag.index.azure.documents import StoredDocument
from rag.retrying import RetryPolicy

_DELIMITER = "|"


def string_literal(value: str) -> str:
    """Return a string literal for a filter."""
    return "'" + value.replace("'", "''") + "'"


def equals(field: str, value: str) -> str:
    """Return a condition for equality with a value."""
    return f"{field} eq {string_literal(value)}"


def one_of(field: str, values: Collection[str]) -> str:
    """Return a condition for any of the values; an empty sequence matches nothing."""
    if not values:
        return "false"
    listed = sorted(value for value in values if _fits_in_list(value))
    odd = [equals(field, value) for value in sorted(values) if not _fits_in_list(value)]
    if listed:
        names = string_literal(_DELIMITER.join(listed))
        odd.append(f"search.in({field}, {names}, '{_DELIMITER}')")
    return f"({' or '.join(odd)})" if len(odd) > 1 else odd[0]


def none_of(field: str, values: Collection[str]) -> str:
    """Return a condition that excludes all of the values."""
    return f"not ({one_of(field, values)})"


def holds(field: str, value: str) -> str:
    """Return a condition for a collection that holds a value, as it is or in lower case.

    It matches nothing for a value that no list can hold.
    """
    spellings = [each for each in sorted({value, value.lower()}) if _fits_in_list(each)]
    names = string_literal(_DELIMITER.join(spellings))
    return f"{field}/any(one: search.in(one, {names}, '{_DELIMITER}'))"


def not_before(field: str, moment: datetime) -> str:
    """Return a condition for a date that is known and not before a moment."""
    return f"{field} ge {moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def all_of(*conditions: str | None) -> str:
    """Return the conjunction of conditions; None is no condition."""
    return " and ".join(f"({one})" if " or " in one else one for one in conditions if one)


def _fits_in_list(value: str) -> bool:
    """Return whether a value is valid in search.in: without the delimiter or leading blanks."""
    return bool(value) and _DELIMITER not in value and value == value.strip()


PAGE_SIZE = 1000
"""The service's limit of documents per response."""

MOST_SKIPPED = 100_000
"""The service's limit of documents skipped in a list."""

MOST_FACETS = 10_000
"""The service's limit of values per facet."""

_PARTIAL = 206
_REASON = "@search.semanticPartialResponseReason"


@dataclass(slots=True)
class SearchResult:
    """Documents in order; ``partial`` is why the semantic ranker skipped some of them, else ""."""

    documents: list[StoredDocument] = field(default_factory=list)
    partial: str = ""


class _Paged(Protocol):
    """The part of the SDK's result pages that it does not declare."""

    async def __anext__(self) -> AsyncIterator[StoredDocument]: ...

    async def get_count(self) -> int | None: ...

    async def get_facets(self) -> Mapping[str, Sequence[Mapping[str, Any]]] | None: ...


async def find(
    connection: Connection,
    index: str,
    *,
    policy: RetryPolicy | None = None,
    seconds: float | None = None,
    **parts: object,
) -> SearchResult:
    """Return the documents of one search; ``parts`` are arguments of the SDK's ``search``.

    ``policy`` and ``seconds`` are those of Connection.call.
    """

    async def ask() -> SearchResult:
        found = SearchResult()

        def note(response: PipelineResponse[Any, Any]) -> None:
            if response.http_response.status_code == _PARTIAL:
                found.partial = str(response.http_response.json().get(_REASON) or "partial")

        paged = await _paged(connection.documents(index), raw_response_hook=note, **parts)
        while (page := await _next(paged)) is not None:
            found.documents += [document async for document in page]
        return found

    return await connection.call(index, ask, seconds=seconds, policy=policy)


async def list_documents(
    connection: Connection,
    index: str,
    condition: str,
    *,
    select: Sequence[str],
    order: str,
    after: str = "",
) -> AsyncIterator[StoredDocument]:
    """Yield all documents that meet a condition, ordered by a text field with unique values.

    Only those after a value of that field, where one is given. Also raises IndexUnavailable where
    there are more documents than the service can list.
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
    """The query of ``list_documents``, requested part by part."""

    connection: Connection
    index: str
    condition: str
    select: Sequence[str]
    order: str

    async def further(self, last: str, skip: int) -> Sequence[StoredDocument]:
        """Return the next documents: those after the last one, or after so many.

        Whether the service can order texts in filters is not documented, so the first response
        decides for the connection. Concurrent writes may shift a list that is read by number.
        """
        if last and self.connection.compares_texts:
            beyond = f"{self.order} gt {string_literal(last)}"
            try:
                return await self._find(all_of(self.condition, beyond))
            except RequestRefused as error:
                if error.status != BAD_REQUEST:
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

    async def _find(self, condition: str, skip: int = 0) -> Sequence[StoredDocument]:
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


async def count_by_value(
    connection: Connection, index: str, condition: str, by: str
) -> Mapping[str, int]:
    """Return the number of documents that meet a condition, by the value of a field."""

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


async def _next(paged: _Paged) -> AsyncIterator[StoredDocument] | None:
    """Return the next page of results, or None after the last.

    Must be fetched before its counts are read: the SDK would search twice otherwise.
    """
    try:
        return await anext(paged)
    except StopAsyncIteration:
        return None
    except TypeError:
        # The SDK's own error for JSON without results.
        raise unexpected_answer() from None

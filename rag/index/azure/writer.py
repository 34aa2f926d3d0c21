"""Sends documents in batches that the service takes, and sees that each one of them arrived.

The SDK's own senders lose documents or break off on a batch that is too large, so that none of
them is used, and an answer 413 never reaches the SDK's own way of halving.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from azure.core.pipeline import PipelineResponse
from azure.search.documents.aio import SearchClient
from azure.search.documents.models import IndexAction, IndexDocumentsBatch, IndexingResult

from rag.errors import IndexUnavailable
from rag.index.azure.connection import Connection
from rag.index.azure.documents import Document
from rag.index.azure.errors import TOO_LARGE, TryAgain
from rag.index.azure.schema import EMBEDDING
from rag.retrying import RetryPolicy

MOST_DOCUMENTS = 200
MOST_BYTES = 10_000_000
"""Of a request; the service takes 16 MB, and this is an estimate."""

_BYTES_A_NUMBER = 14
_WRITE_SECONDS = 120.0
_PATIENCE = RetryPolicy(attempts=8, first_wait_seconds=0.5, longest_wait_seconds=15.0)

_ABSENT = 404
_PASSING = frozenset({409, 422, 429, 500, 503})

Kind = Literal["upload", "merge", "delete"]


@dataclass(frozen=True, slots=True)
class Change:
    """One document to be replaced, changed in part, or removed."""

    kind: Kind
    document: Document

    @property
    def key(self) -> str:
        return str(self.document["id"])


class _TooLarge(Exception):
    """The service does not take so much at once."""


class Writer:
    """Writes to any index of one service. Every change may be repeated without harm."""

    def __init__(self, connection: Connection, policy: RetryPolicy | None = None) -> None:
        self._connection = connection
        self._policy = policy or _PATIENCE

    async def write(self, index: str, changes: Iterable[Change]) -> None:
        """Make all changes; a part that is not there any more is not changed.

        Raises IndexUnavailable, which names the documents that were not taken. The others were.
        """
        for batch in batches(changes):
            await self._send(index, batch)

    async def _send(self, index: str, batch: Sequence[Change]) -> None:
        try:
            await self._until_taken(index, batch)
        except _TooLarge:
            if len(batch) == 1:
                raise IndexUnavailable(
                    f"Azure AI Search does not take document {batch[0].key!r}: it is too large."
                ) from None
            half = len(batch) // 2
            await self._send(index, batch[:half])
            await self._send(index, batch[half:])

    async def _until_taken(self, index: str, batch: Sequence[Change]) -> None:
        left = {change.key: change for change in batch}

        async def once() -> None:
            client = self._connection.documents(index)
            results = await _post(client, list(left.values()))
            for result in results:
                if _settled(result, left[result.key].kind):
                    del left[result.key]
            _check(results, left)

        await self._connection.call(index, once, seconds=_WRITE_SECONDS, policy=self._policy)


def batches(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Yield the changes in order, no batch larger than what is sent at once."""
    batch: list[Change] = []
    size = 0
    for change in changes:
        grown = estimated_bytes(change.document)
        if batch and (len(batch) == MOST_DOCUMENTS or size + grown > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(change)
        size += grown
    if batch:
        yield batch


def estimated_bytes(document: Document) -> int:
    """Return about how long a document is as it is sent."""
    told = {name: value for name, value in document.items() if name != EMBEDDING}
    return len(json.dumps(told)) + _BYTES_A_NUMBER * len(document.get(EMBEDDING, ()))


async def _post(client: SearchClient, changes: Sequence[Change]) -> list[IndexingResult]:
    actions = [IndexAction({"@search.action": one.kind, **one.document}) for one in changes]
    return await client.index_documents(
        IndexDocumentsBatch(actions=actions), raw_response_hook=_refuse_halving
    )


def _refuse_halving(response: PipelineResponse[Any, Any]) -> None:
    if response.http_response.status_code == TOO_LARGE:
        raise _TooLarge


def _settled(result: IndexingResult, kind: Kind) -> bool:
    return result.succeeded or (kind != "upload" and result.status_code == _ABSENT)


def _check(results: Sequence[IndexingResult], left: dict[str, Change]) -> None:
    """Raise for what was not taken: for good, or until it is tried again."""
    failed = [result for result in results if result.key in left]
    final = [result for result in failed if result.status_code not in _PASSING]
    if final:
        raise IndexUnavailable(
            f"Azure AI Search does not take {_named(final)}. The index has fields of its own; "
            "rebuild it with `python -m ingestion rebuild`."
        )
    if left:
        raise TryAgain(f"Azure AI Search did not take {_named(failed)} for now.")


def _named(results: Sequence[IndexingResult]) -> str:
    keys = ", ".join(f"{result.key!r} ({result.status_code})" for result in results[:3])
    more = f" and {len(results) - 3} more" if len(results) > 3 else ""  # noqa: PLR2004
    return f"document {keys}{more}"

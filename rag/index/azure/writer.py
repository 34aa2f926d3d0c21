"""Write whole pages in batches that the service accepts, and check each document's result.

The order of writes makes a kill at any point harmless. The SDK's own senders lose documents or
abort on a batch that is too large, so they are not used, and a response 413 never reaches the SDK's
own splitting.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from azure.core.pipeline import PipelineResponse
from azure.search.documents.aio import SearchClient
from azure.search.documents.models import IndexAction, IndexDocumentsBatch, IndexingResult

from rag.errors import IndexUnavailable
from rag.index.azure.connection import CONTENT_TOO_LARGE, Connection, TryAgain
from rag.index.azure.documents import (
    CHUNK,
    PAGE,
    Document,
    StoredDocument,
    chunk_documents,
    page_document,
    permission_fields,
    revision_document,
)
from rag.index.azure.queries import all_of, equals, list_documents, one_of
from rag.index.azure.schema import EMBEDDING
from rag.retrying import RetryPolicy
from rag.types import Chunk, Page, Principal, Readers, Vectors, encode_readers

MOST_DOCUMENTS = 200
MOST_BYTES = 10_000_000
"""Limit of a request; the service takes 16 MB, and sizes are estimates."""

_BYTES_A_NUMBER = 14
_WRITE_SECONDS = 120.0
_RETRIES = RetryPolicy(attempts=8, first_wait_seconds=0.5, longest_wait_seconds=15.0)

_ABSENT = 404
_TRANSIENT = frozenset({409, 422, 429, 500, 503})

ChangeKind = Literal["upload", "merge", "delete"]


@dataclass(frozen=True, slots=True)
class Change:
    """One document to be replaced, merged, or removed."""

    kind: ChangeKind
    document: Document

    @property
    def key(self) -> str:
        return str(self.document["id"])


class _TooLarge(Exception):
    """The request is too large for the service."""


class BatchWriter:
    """Writes to any index of one service. Every change must be safe to repeat."""

    def __init__(self, connection: Connection, policy: RetryPolicy | None = None) -> None:
        self._connection = connection
        self._policy = policy or _RETRIES

    async def write(self, index: str, changes: Iterable[Change]) -> None:
        """Apply all changes; merges into missing documents are skipped.

        Raises IndexUnavailable, which names the rejected documents. The others were written.
        """
        for batch in batches(changes):
            await self._send(index, batch)

    async def _send(self, index: str, batch: Sequence[Change]) -> None:
        try:
            await self._write_batch(index, batch)
        except _TooLarge:
            if len(batch) == 1:
                raise IndexUnavailable(
                    f"Azure AI Search does not take document {batch[0].key!r}: it is too large."
                ) from None
            half = len(batch) // 2
            await self._send(index, batch[:half])
            await self._send(index, batch[half:])

    async def _write_batch(self, index: str, batch: Sequence[Change]) -> None:
        left = {change.key: change for change in batch}

        async def once() -> None:
            client = self._connection.documents(index)
            results = await _post(client, list(left.values()))
            for result in results:
                if _is_settled(result, left[result.key].kind):
                    del left[result.key]
            _check(results, left)

        await self._connection.call(index, once, seconds=_WRITE_SECONDS, policy=self._policy)


def batches(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Yield the changes in order, in batches up to the size limit."""
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
    """Return an estimate of a document's size in a request."""
    told = {name: value for name, value in document.items() if name != EMBEDDING}
    return len(json.dumps(told)) + _BYTES_A_NUMBER * len(document.get(EMBEDDING, ()))


async def _post(client: SearchClient, changes: Sequence[Change]) -> list[IndexingResult]:
    actions = [IndexAction({"@search.action": one.kind, **one.document}) for one in changes]
    return await client.index_documents(
        IndexDocumentsBatch(actions=actions), raw_response_hook=_refuse_halving
    )


def _refuse_halving(response: PipelineResponse[Any, Any]) -> None:
    if response.http_response.status_code == CONTENT_TOO_LARGE:
        raise _TooLarge


def _is_settled(result: IndexingResult, kind: ChangeKind) -> bool:
    return result.succeeded or (kind != "upload" and result.status_code == _ABSENT)


def _check(results: Sequence[IndexingResult], left: dict[str, Change]) -> None:
    """Raise the error for rejected documents: permanent, or transient (TryAgain)."""
    failed = [result for result in results if result.key in left]
    final = [result for result in failed if result.status_code not in _TRANSIENT]
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


_PAGES_AT_ONCE = 500
_SELECT = ("id", "kind", "tenant", "space", "page_id", "readers", "version", "chunks")

IN_PROGRESS: Document = {
    **permission_fields(()),
    "readers": encode_readers((frozenset({Principal("unsettled")}),)),
}
"""Fields of a page that is being written: shown to nobody, with readers that no page has."""


class PageWriter:
    """Replaces, restricts and removes pages of one index.

    The service has no transactions. A page's own document is written first as in progress, and last
    with its version and readers; it is removed last. After a kill at any point the next sync finds
    a page that has neither the version nor the readers that it should have. Each chunk carries its
    own readers with its text, so no intermediate state shows text to people who may not read it.
    """

    def __init__(self, connection: Connection, writer: BatchWriter) -> None:
        self._connection = connection
        self._writer = writer

    async def replace(
        self, index: str, page: Page, chunks: Sequence[Chunk], vectors: Vectors | None
    ) -> None:
        """Write the chunks, remove those that are gone, then mark the page as complete."""
        kept = await self._kept(index, page, chunks)
        changed = _space_changes(page.tenant, page.space)
        await self._writer.write(index, [_mark_in_progress(page, kept), changed])
        ids = {chunk.id for chunk in chunks}
        gone = [found for found in kept if found["kind"] == CHUNK and found["id"] not in ids]
        steps = [_uploads(chunk_documents(page, chunks, vectors)), _deletes(gone)]
        if any(found["readers"] != encode_readers(page.readers) for found in gone):
            # Readers may have been removed: chunks that former readers can still find go first.
            steps.reverse()
        for step in steps:
            await self._writer.write(index, step)
        whole = _uploads([page_document(page, chunks)])
        await self._writer.write(index, [*whole, _space_changes(page.tenant, page.space)])

    async def set_readers(self, index: str, place: tuple[str, str, str], readers: Readers) -> None:
        """Change the readers of a page (tenant, space, id): its chunks first, then its document."""
        tenant, space, page_id = place
        found = [one async for one in self._all(index, tenant, space, [page_id])]
        pages = [one for one in found if one["kind"] == PAGE]
        chunks = [one for one in found if one["kind"] == CHUNK]
        fields = permission_fields(readers)
        if not found:
            return
        changed = _space_changes(tenant, space)
        await self._writer.write(index, [*_merges(pages, IN_PROGRESS), changed])
        await self._writer.write(index, _merges(chunks, fields))
        whole: list[Change] = []
        for one in pages:
            # Recent writes may not be visible yet; such a page is written again by the next sync.
            version = one["version"] if one["chunks"] == len(chunks) else ""
            whole += _merges([one], {**fields, "version": version})
        await self._writer.write(index, [*whole, _space_changes(tenant, space)])

    async def delete(self, index: str, tenant: str, space: str, page_ids: Collection[str]) -> int:
        """Remove pages; return the number of pages that existed."""
        wanted = sorted(set(page_ids))
        removed = 0
        for start in range(0, len(wanted), _PAGES_AT_ONCE):
            ids = wanted[start : start + _PAGES_AT_ONCE]
            found = [one async for one in self._all(index, tenant, space, ids)]
            pages = [one for one in found if one["kind"] == PAGE]
            chunks = [one for one in found if one["kind"] == CHUNK]
            if not found:
                continue
            marks = _merges(pages, {"version": "", **IN_PROGRESS})
            await self._writer.write(index, [*marks, _space_changes(tenant, space)])
            await self._writer.write(index, _deletes(chunks))
            changed = _space_changes(tenant, space)
            await self._writer.write(index, [*_deletes(pages), changed])
            removed += len({one["page_id"] for one in found})
        return removed

    async def _kept(self, index: str, page: Page, chunks: Sequence[Chunk]) -> list[StoredDocument]:
        """Return the stored documents of a page. Raises ValueError for chunks of another page."""
        mine = all_of(
            equals("tenant", page.tenant), equals("space", page.space), equals("page_id", page.id)
        )
        condition = f"({mine})"
        if chunks:
            condition += f" or {one_of('id', [chunk.id for chunk in chunks])}"
        found = [one async for one in self._listed(index, condition)]
        for one in found:
            if (one["tenant"], one["space"], one["page_id"]) != (page.tenant, page.space, page.id):
                raise ValueError(
                    f"Chunk {one['id']!r} of page {page.id!r} is already in the index."
                )
        return found

    def _all(
        self, index: str, tenant: str, space: str, page_ids: Collection[str]
    ) -> AsyncIterator[StoredDocument]:
        condition = all_of(
            equals("tenant", tenant), equals("space", space), one_of("page_id", page_ids)
        )
        return self._listed(index, condition)

    def _listed(self, index: str, condition: str) -> AsyncIterator[StoredDocument]:
        return list_documents(self._connection, index, condition, select=_SELECT, order="id")


def _mark_in_progress(page: Page, kept: Iterable[StoredDocument]) -> Change:
    """Mark a page as being written; it stays visible meanwhile if its readers are unchanged."""
    same = encode_readers(page.readers)
    known = [one["id"] for one in kept if one["kind"] == PAGE and one["readers"] == same]
    if known:
        told = {"id": known[0], "version": "", "readers": IN_PROGRESS["readers"]}
        return Change("merge", told)
    return Change("upload", {**page_document(page, ()), "version": "", **IN_PROGRESS})


def _space_changes(tenant: str, space: str) -> Change:
    """Return the change that gives a space another revision.

    Written with the first and the last change of a page: no state between has the old one, nor one
    that it will have afterwards.
    """
    return Change("upload", revision_document(tenant, space))


def _merges(documents: Iterable[StoredDocument], fields: Document) -> list[Change]:
    return [Change("merge", {"id": document["id"], **fields}) for document in documents]


def _uploads(documents: Iterable[Document]) -> list[Change]:
    return [Change("upload", document) for document in documents]


def _deletes(documents: Iterable[StoredDocument]) -> list[Change]:
    return [Change("delete", {"id": document["id"]}) for document in documents]

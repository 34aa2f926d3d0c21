"""Reads who may read pages, and their labels: a hundred pages a request, one by one where need be.

A batch is asked for by its ids, so that it neither shifts while pages change nor depends on what
came before; what is missing in its answer (the search lags, a restriction was not told whole) is
asked for on its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from ingestion.confluence.client.paging import items
from ingestion.confluence.client.patience import Patience, TryAgain
from ingestion.confluence.client.searching import SEARCH
from ingestion.confluence.client.shapes import Content, ContentPart, Named, Restriction
from ingestion.confluence.client.telling import marks_of
from ingestion.confluence.client.transport import Query, Transport
from ingestion.confluence.client.wording import in_path
from ingestion.confluence.errors import NotVisible
from ingestion.confluence.types import PageMarks, Subjects

BATCH = 100
_RESTRICTED = "restrictions.read.restrictions.user,restrictions.read.restrictions.group"
_EXPAND = f"{_RESTRICTED},metadata.labels"
_EACH = 200
_MOST_PARTS = 500
_FAILS_ON_IT = 500
_TOO_MANY = 429
_BRIEFLY = Patience(attempts=2, deadline_seconds=90.0)
"""A batch with one page that Confluence fails on fails always: not worth eight tries."""

LabelsOf = Callable[[str], Awaitable[tuple[str, ...]]]


class Marking:
    """Marks of pages. ``labels_of`` reads one page's labels, as the edition has it.

    ``counted``: whether the edition's search counts (see paging).
    """

    def __init__(self, transport: Transport, *, labels_of: LabelsOf, counted: bool = False) -> None:
        self._transport = transport
        self._labels_of = labels_of
        self._counted = counted

    async def of_all(self, ids: AsyncIterator[str]) -> AsyncIterator[PageMarks]:
        """Yield the marks of pages; those that can't be read are left out."""
        async for batch in _batches(ids):
            found = await self._batch(batch)
            for marks in found.values():
                yield marks
            for marks in await self._singly([each for each in batch if each not in found]):
                yield marks

    async def _batch(self, ids: Sequence[str]) -> dict[str, PageMarks]:
        """Return what one request tells; nothing where Confluence fails on the batch."""
        query: Query = {"cql": f"id in ({','.join(ids)})", "expand": _EXPAND, "limit": BATCH}
        found = items(
            self._transport, SEARCH, query, of=ContentPart, counted=self._counted, patience=_BRIEFLY
        )
        try:
            told = await _first(found, len(ids))
        except NotVisible:
            return {}
        except TryAgain as error:
            if error.status is None or error.status == _TOO_MANY:
                raise
            return {}
        marked = (marks_of(content) for content in told)
        return {marks.id: marks for marks in marked if marks is not None and marks.id in ids}

    async def _singly(self, ids: Sequence[str]) -> list[PageMarks]:
        reading = (self._unless_hidden(each) for each in ids)
        # All are waited for: none goes on asking after another has failed.
        read = await asyncio.gather(*reading, return_exceptions=True)
        for error in read:
            if isinstance(error, BaseException):
                raise error
        return [marks for marks in read if isinstance(marks, PageMarks)]

    async def _unless_hidden(self, page_id: str) -> PageMarks | None:
        try:
            return await self.of(page_id, patience=_BRIEFLY)
        except NotVisible:
            return None
        except TryAgain as error:
            if error.status == _FAILS_ON_IT:
                return None
            raise

    async def of(self, page_id: str, *, patience: Patience | None = None) -> PageMarks:
        """Return one page's marks. Raises NotVisible, also where who is named can't be told."""
        subjects = await self._restriction(page_id, patience)
        return PageMarks(id=page_id, readers=subjects, labels=await self._labels_of(page_id))

    async def _restriction(self, page_id: str, patience: Patience | None) -> Subjects:
        path = f"/rest/api/content/{in_path(page_id)}/restriction/byOperation/read"
        query: Query = {"expand": "restrictions.user,restrictions.group", "limit": _EACH}
        told: list[Named] = []
        for _ in range(_MOST_PARTS):
            start = sum(each.step for each in told)
            answer = await self._transport.get(
                path, {**query, "start": start}, shape=Restriction, patience=patience
            )
            told.append(answer.value.restrictions)
            if told[-1].last:
                break
        return _joined(told, page_id)


def _joined(told: Sequence[Named], page_id: str) -> Subjects:
    parts = [each.subjects() for each in told]
    subjects = Subjects(
        users=frozenset().union(*(part.users for part in parts)),
        groups=frozenset().union(*(part.groups for part in parts)),
    )
    if subjects.empty and any(each.unnamed for each in told):
        # No id is no restriction to who reads this: the page would be open to all.
        raise NotVisible(f"Confluence does not say who may read {page_id}, only that some may.")
    return subjects


async def _batches(ids: AsyncIterator[str]) -> AsyncIterator[list[str]]:
    batch: list[str] = []
    async for each in ids:
        batch.append(each)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def _first(found: AsyncIterator[Content], number: int) -> list[Content]:
    """Return so many of what is found, and ask for no more than that takes."""
    told: list[Content] = []
    async for content in found:
        told.append(content)
        if len(told) >= number:
            break
    return told

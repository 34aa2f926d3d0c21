"""List, add, replace and remove indexed documents, for administrators."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from ingestion.documents.convert import file_kind, stored_name
from ingestion.documents.converter_process import DocumentChecker
from ingestion.errors import DocumentInTheWay, DocumentRefused, DocumentUnknown
from ingestion.records.ledger import Ledger
from ingestion.records.types import Failure, Synced
from ingestion.runs.background import Runs
from ingestion.runs.source_registry import KnownSources
from ingestion.runs.worker_pool import WorkerPool
from ingestion.uploads import KIND, ReceivedFile, UploadMetadata, Uploads, kind_of
from ingestion.validation import (
    ReadersMalformed,
    describe_readers,
    document_name,
    lets_in_all,
    parse_readers,
    shortened,
    space_key,
)
from rag.ports import SearchIndex
from rag.types import ANSWERS_SPACE, PageSummary, Principal, Readers, SpaceSummary


@dataclass(frozen=True, slots=True)
class Space:
    """A space: what is indexed of it, from which source, and when it was last synced.

    ``takes_uploads``: uploads are its source. ``reindexable``: its source is known.
    """

    name: str
    pages: int
    chunks: int
    source: str
    takes_uploads: bool
    reindexable: bool
    synced_at: datetime | None = None
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class LibraryDocument:
    """One document. ``state`` is "waiting" until the version last sent is indexed."""

    space: str
    id: str
    title: str
    url: str
    readers: str
    chunks: int
    source: str
    state: Literal["indexed", "waiting", "failed"]
    updated_at: datetime | None = None
    uploaded_at: datetime | None = None
    uploaded_by: str = ""
    reason: str = ""
    cure: str = ""
    removable: bool = False


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome of an upload; ``run_id`` is the run that indexes it."""

    space: str
    id: str
    replaced: bool
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Joins the index, the uploaded files and the runs.

    ``seen_by`` are the principals of the user; None sees everything.
    """

    index: SearchIndex
    tenant: str
    uploads: Uploads
    sources: KnownSources
    runs: Runs
    ledger: Ledger
    workers: WorkerPool
    checker: DocumentChecker = field(default_factory=DocumentChecker)

    async def spaces(self, seen_by: frozenset[Principal] | None) -> Sequence[Space]:
        """Return the spaces in which the user can see something, by name."""
        held = {one.space: one for one in await self.index.space_summaries(self.tenant, seen_by)}
        known = set(await self.sources.spaces())
        synced = await self.ledger.synced()
        names = sorted(held.keys() | (known if seen_by is None else set()))
        return [
            self._space(name, held.get(name), synced.get(name), known, whole=seen_by is None)
            for name in names
        ]

    async def documents(
        self,
        space: str,
        seen_by: frozenset[Principal] | None,
        *,
        words: str = "",
        after: str = "",
        limit: int = 50,
    ) -> Sequence[LibraryDocument]:
        """Return a space's documents by id: those after ``after`` that contain all ``words``."""
        found = await self.index.page_summaries(
            self.tenant, space, seen_by, words=words, after=after, limit=limit
        )
        return [_of_summary(page) for page in found]

    async def document(
        self, space: str, document_id: str, seen_by: frozenset[Principal] | None
    ) -> LibraryDocument:
        """Return one document. Raises DocumentUnknown."""
        page = await self.index.page_summary(self.tenant, space, document_id, seen_by)
        hidden = page is None and seen_by is not None
        about = None if hidden else await asyncio.to_thread(self.uploads.about, space, document_id)
        if page is None and about is None:
            raise DocumentUnknown(f"There is no document {shortened(document_id)} in this space.")
        synced = (await self.ledger.synced()).get(space)
        return _document(space, document_id, page, about, synced)

    async def at(
        self, urls: Sequence[str], seen_by: frozenset[Principal] | None
    ) -> LibraryDocument | None:
        """Return the document at the first of these addresses that has one."""
        page = await self.index.page_at(self.tenant, urls, seen_by)
        return None if page is None else _of_summary(page)

    async def add(
        self,
        space: str,
        received: Path,
        *,
        name: str,
        readers: str,
        by: str,
        exact: bool = False,
        declared: bool = False,
    ) -> Added:
        """Store a file in a space and have it indexed; one of the same name is replaced.

        The file is moved. A name that does not fit the content gets another extension, or is
        refused if it is to be ``exact``; where the name's format is ``declared``, any text fits it.
        Raises DocumentRefused, DocumentInTheWay.
        """
        space_key(space)
        name = document_name(name)
        may_read = _readers(readers)
        if space == ANSWERS_SPACE:
            raise DocumentInTheWay(
                f"The space {space!r} is reserved for reviewed answers. Choose another space."
            )
        await self._check_free(space)
        kind = await asyncio.to_thread(file_kind, received, name, declared=declared)
        if exact and (fitting := stored_name(name, kind)) != name:
            raise DocumentRefused(
                f"The content of {shortened(name)} doesn't match its name. Rename it to "
                f"{shortened(fitting)}, or send other content."
            )
        await self.checker.check(received, kind, name)
        arrived = ReceivedFile(received, name, kind, may_read, by)
        document_id, replaced = await self.uploads.keep(space, arrived)
        return Added(space, document_id, replaced, await self.runs.request(space, by=by))

    async def remove(self, space: str, document_id: str, *, by: str) -> None:
        """Remove an uploaded document, its file first; it can't be found from then on.

        Raises DocumentUnknown, DocumentInTheWay.
        """
        if not self.uploads.has(space) or space == ANSWERS_SPACE:
            await self.document(space, document_id, None)
            raise DocumentInTheWay(
                f"{shortened(document_id)} was not uploaded: remove it where it comes from, and "
                "reindex the space."
            )
        await self._drop(space, document_id, by=by)

    async def answers(self) -> Mapping[str, UploadMetadata]:
        """Return the stored pages of reviewed answers, by name."""
        if not self.uploads.has(ANSWERS_SPACE):
            return {}
        names, _ = await asyncio.to_thread(self.uploads.inventory, ANSWERS_SPACE)
        found = [
            (name, await asyncio.to_thread(self.uploads.about, ANSWERS_SPACE, name))
            for name in sorted(names)
        ]
        return {name: about for name, about in found if about is not None}

    async def put_answer(self, name: str, content: bytes, readers: Readers, *, by: str) -> None:
        """Store the page of a reviewed answer and have it indexed; one of its name is replaced.

        Raises DocumentInTheWay if another source fills the space of answers.
        """
        await self._check_free(ANSWERS_SPACE)
        before = await asyncio.to_thread(self.uploads.about, ANSWERS_SPACE, name)
        received = await asyncio.to_thread(self.uploads.receive, content)
        await self.uploads.keep(ANSWERS_SPACE, ReceivedFile(received, name, ".md", readers, by))
        if before is not None and not lets_in_all(readers, before.may_read()):
            # Nobody who is left out now reads the page until it is indexed.
            await self.index.delete_pages(self.tenant, ANSWERS_SPACE, [name])
        await self.runs.request(ANSWERS_SPACE, by=by)

    async def drop_answer(self, name: str, *, by: str) -> None:
        """Remove the page of a reviewed answer; it can't be found from then on."""
        await self._drop(ANSWERS_SPACE, name, by=by)

    async def mend_answers(self, *, by: str) -> None:
        """Have the answers indexed if their pages and the index differ after an interruption."""
        if not self.uploads.has(ANSWERS_SPACE) or await self.runs.busy(ANSWERS_SPACE):
            return
        if await self._differs(ANSWERS_SPACE, await self.ledger.synced()):
            await self.runs.request(ANSWERS_SPACE, by=by)

    async def to_mend(self) -> Sequence[str]:
        """Return the spaces whose files and indexed pages differ after an interruption."""
        synced = await self.ledger.synced()
        spaces = await asyncio.to_thread(self.uploads.spaces)
        return [space for space in spaces if await self._differs(space, synced)]

    async def _differs(self, space: str, synced: Mapping[str, Synced]) -> bool:
        names, newest = await asyncio.to_thread(self.uploads.inventory, space)
        since = synced.get(space)
        late = newest is not None and (since is None or newest > since.started_at)
        return late or names != set(await self.index.pages(self.tenant, space))

    async def _drop(self, space: str, document_id: str, *, by: str) -> None:
        """Remove a stored document, its file first. Raises DocumentUnknown."""
        try:
            await self.uploads.remove(space, document_id)
        except DocumentUnknown:
            # An earlier removal may have been interrupted here.
            if await self.index.page_summary(self.tenant, space, document_id, None) is None:
                raise
        await self.index.delete_pages(self.tenant, space, [document_id])
        if await self.runs.busy(space):
            # That run may have read the file before it was removed.
            await self.runs.request(space, by=by)

    async def _check_free(self, space: str) -> None:
        """Reject uploads into a space with another source, whose next run would remove them."""
        if self.uploads.has(space):
            return
        taken = {one.space for one in await self.index.space_summaries(self.tenant, None)}
        if space in taken | set(await self.sources.spaces()):
            raise DocumentInTheWay(
                f"The space {space!r} has another source and takes no uploads. Choose another one."
            )
        near = next((one for one in taken if one.casefold() == space.casefold()), None)
        near = near or next(
            (one for one in self.uploads.spaces() if one.casefold() == space.casefold()), None
        )
        if near is not None:
            raise DocumentInTheWay(f"There is already a space {near!r}. Use that spelling.")

    def _space(
        self,
        name: str,
        held: SpaceSummary | None,
        synced: Synced | None,
        known: set[str],
        *,
        whole: bool,
    ) -> Space:
        uploads = self.uploads.has(name)
        return Space(
            name=name,
            pages=held.pages if held else 0,
            chunks=held.chunks if held else 0,
            source=kind_of(name) if uploads else held.source_type if held else "folder",
            takes_uploads=uploads and name != ANSWERS_SPACE,
            reindexable=name in known,
            synced_at=synced.ended_at if synced else None,
            failures=synced.failures if synced and whole else (),
        )


def _readers(text: str) -> Readers:
    try:
        return parse_readers(text)
    except ReadersMalformed as error:
        raise DocumentRefused(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error


def _of_summary(page: PageSummary) -> LibraryDocument:
    return LibraryDocument(
        space=page.space,
        id=page.id,
        title=page.title,
        url=page.url,
        readers=describe_readers(page.readers),
        chunks=page.chunks,
        source=page.source_type,
        state="indexed",
        updated_at=page.updated_at,
        removable=page.source_type == KIND,
    )


def _document(
    space: str,
    document_id: str,
    page: PageSummary | None,
    about: UploadMetadata | None,
    synced: Synced | None,
) -> LibraryDocument:
    failures = synced.failures if synced else ()
    failed = next((one for one in failures if one.page == document_id), None)
    found = about is None or (synced is not None and synced.started_at >= about.at)
    return LibraryDocument(
        space=space,
        id=document_id,
        title=page.title if page else document_id,
        url=page.url if page else "",
        readers=describe_readers(
            page.readers if page and found else about.may_read() if about else ()
        ),
        chunks=page.chunks if page else 0,
        source=page.source_type if page else kind_of(space),
        state=_state(found=found, indexed=page is not None, failed=failed is not None),
        updated_at=page.updated_at if page else None,
        uploaded_at=about.at if about else None,
        uploaded_by=about.by if about else "",
        reason=failed.reason if failed and found else "",
        cure=failed.cure if failed and found else "",
        removable=about is not None and space != ANSWERS_SPACE,
    )


def _state(*, found: bool, indexed: bool, failed: bool) -> Literal["indexed", "waiting", "failed"]:
    if found and failed:
        return "failed"
    return "indexed" if found and indexed else "waiting"

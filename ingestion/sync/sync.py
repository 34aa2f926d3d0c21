"""Sync one space of the index with its source, one run at a time.

No state of a run is stored: each page is one transaction, and the next run's plan finds what is
left. A run that is killed at any point is resumed by running again. Narrower readers and removals
are written before any text.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ingestion.chunking.chunker import ChunkSizes, PageLocation, chunk_sizes
from ingestion.concurrency import for_each
from ingestion.embedding_usage import expected_use, use_between, use_of, with_use
from ingestion.ports import FindsPages, ListsChanges, Progress, Source, TellsUse
from ingestion.records.leases import FileLeases, Leases
from ingestion.sources.folder import FolderSource
from ingestion.sync.pipeline import Confirm, Pipeline, no_confirmation
from ingestion.sync.plan import (
    Versions,
    chunking_of,
    interim_readers,
    narrowed_readers_first,
    plan_run,
    removal_error,
)
from ingestion.sync.report import NoProgress, ReportBuilder
from ingestion.types import Extent, Listing, Plan, Report, SourcePage
from rag.ports import Embedder, Index
from rag.types import EVERYONE, Page, Readers

_AT_ONCE = 4


async def restrict_and_remove(
    index: Index,
    plan: Plan,
    indexed: Mapping[str, Page],
    *,
    tenant: str,
    space: str,
    confirm: Confirm,
) -> None:
    """Apply a plan's changes of readers and its removals; ``indexed`` are the indexed pages.

    Narrower readers and removals come first, then wider readers.
    """
    narrowed, widened = narrowed_readers_first(interim_readers(plan, indexed), indexed)
    await _set_readers(index, tenant, space, narrowed, confirm)
    if plan.removed:
        await confirm()
        await index.delete_pages(tenant, space, plan.removed)
    await _set_readers(index, tenant, space, widened, confirm)


async def _set_readers(
    index: Index, tenant: str, space: str, pages: Sequence[SourcePage], confirm: Confirm
) -> None:
    async def set_one(page: SourcePage) -> None:
        await confirm()
        await index.set_readers(tenant, space, page.id, page.readers)

    await for_each(pages, set_one, at_once=_AT_ONCE)


async def sync(
    source: Source,
    index: Index,
    embedder: Embedder | None,
    *,
    tenant: str,
    dry_run: bool = False,
    allow_mass_delete: bool = False,
    extent: Extent = "all",
    page: str = "",
    watermark: str = "",
    again: Collection[str] = (),
    confirm: Confirm = no_confirmation,
    progress: Progress,
) -> Report:
    """Make the index hold exactly what the source holds of its space.

    Readers and removals come first, so that forbidden text is gone at once. Unchanged pages cost no
    embedding. Pages that cannot be read are reported and stay as they were.

    Args:
        source: The source of the pages.
        index: The index to write to.
        embedder: None: pages can be found by keywords only.
        tenant: The tenant of the pages.
        dry_run: Compute the report without writing.
        allow_mass_delete: Remove even a large share of the space, or all of it.
        extent: How much to read. A source that can't list changes, or has no ``watermark`` yet, or
            can't find a ``page``, is read as a whole; the report says so.
        page: The page, by address or id, for the extent "page".
        watermark: That of the last report.
        again: Pages that failed before, to be retried with the changes.
        confirm: Called before each write.
        progress: Receives the progress.

    Raises:
        SourceUnavailable: the source cannot be listed.
        TooManyRemoved: more than 30 % of the space, and at least 5 pages, would be removed.
        SpaceBlind: the source shows no page at all, and the index has some.
        LeaseLost: by ``confirm``.
        rag.errors.RagError: index or embedder failed; what is written so far stays.
    """
    started = time.monotonic()
    extent = _supported_extent(source, extent, watermark)
    listing = await _listed(source, extent, page, watermark, again)
    indexed = await index.pages(tenant, source.space)
    measure = chunk_sizes(embedder)
    versions = await _versions(index, embedder, measure)
    plan = plan_run(listing, indexed, versions)
    stops = removal_error(plan, listing, source.space)
    account = ReportBuilder(source.space, extent, listing, plan, started, embedder is not None)
    if stops is not None and not allow_mass_delete and not dry_run:
        raise stops
    expected = await expected_use(
        plan, index, embedder, tenant=tenant, space=source.space, chunk_tokens=measure.target
    )
    if dry_run:
        return replace(account.planned(str(stops or "")), use=expected)
    await restrict_and_remove(
        index, plan, indexed, tenant=tenant, space=source.space, confirm=confirm
    )
    pipeline = Pipeline(
        source=source,
        index=index,
        embedder=embedder,
        place=PageLocation(tenant, source.space, source.type),
        ruler=measure,
        versions=versions,
        progress=progress,
        confirm=confirm,
    )
    before = use_of(embedder)
    if isinstance(progress, TellsUse) and expected is not None:
        progress.expect(len(plan.to_write), expected)
    with _announce(progress, source.space, plan, listing):
        written = await pipeline.write(plan.to_write)
    return with_use(account.done(written), use_between(before, use_of(embedder)))


def _supported_extent(source: Source, extent: Extent, watermark: str) -> Extent:
    if extent == "changes" and watermark and isinstance(source, ListsChanges):
        return extent
    if extent == "page" and isinstance(source, FindsPages):
        return extent
    return "all"


async def _listed(
    source: Source, extent: Extent, page: str, watermark: str, again: Collection[str]
) -> Listing:
    if extent == "changes" and isinstance(source, ListsChanges):
        return await source.changes(watermark, again)
    if extent == "page" and isinstance(source, FindsPages):
        return await source.only(page)
    return await source.list()


async def _versions(index: Index, embedder: Embedder | None, measure: ChunkSizes) -> Versions:
    """Return how versions are computed; without an embedder, existing vectors stay."""
    kept = await index.fingerprint()
    keeps_vectors = embedder is None and kept is not None and kept.embedder != ""
    return Versions(chunking_of(measure, embedder.name if embedder else None), keeps_vectors)


@contextmanager
def _announce(progress: Progress, space: str, plan: Plan, listing: Listing) -> Iterator[None]:
    """Report that the pages of a plan are being written, and which ones could not be listed."""
    progress.begin(space, len(plan.to_write))
    for finding in listing.failed:
        progress.fail(finding.page, finding.reason)
    try:
        yield
    finally:
        progress.end()


EVERYONE_READS: Readers = (frozenset({EVERYONE}),)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that fills a space.

    ``readers`` apply to pages whose front matter does not set them. Page paths are joined to
    ``base_url``; without it they become paths on this server (``/pages/SPACE/…``).
    """

    path: Path
    space: str
    readers: Readers = EVERYONE_READS
    base_url: str | None = None


async def sync_folder(
    folder: Folder,
    index: Index,
    embedder: Embedder | None,
    *,
    tenant: str,
    data_dir: Path,
    dry_run: bool = False,
    allow_mass_delete: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Sync a space with a folder; one run at a time per space and data directory.

    A dry run takes no lease and changes nothing. For an index that is a file in ``data_dir``; where
    records are shared, call ``sync_source`` with their leases.

    Raises:
        RunInProgress: another run works on the space.
        SourceUnavailable, TooManyRemoved, rag.errors.RagError: as ingestion.sync.sync.sync.
    """
    return await sync_source(
        source_of(folder),
        index,
        embedder,
        tenant=tenant,
        leases=FileLeases(data_dir, tenant),
        dry_run=dry_run,
        allow_mass_delete=allow_mass_delete,
        progress=progress,
    )


def source_of(folder: Folder) -> FolderSource:
    """Return the source that reads a folder."""
    return FolderSource(
        folder.path, space=folder.space, readers=folder.readers, base_url=folder.base_url
    )


async def sync_source(
    source: Source,
    index: Index,
    embedder: Embedder | None,
    *,
    tenant: str,
    leases: Leases,
    dry_run: bool = False,
    allow_mass_delete: bool = False,
    extent: Extent = "all",
    page: str = "",
    watermark: str = "",
    again: Collection[str] = (),
    progress: Progress | None = None,
) -> Report:
    """Sync a space with any source, holding its lease; otherwise as sync_folder and sync.

    Also raises LeaseLost: another run may work there by now, and this one wrote nothing more.
    """
    async with _leased(leases, source.space, dry_run=dry_run) as confirm:
        return await sync(
            source,
            index,
            embedder,
            tenant=tenant,
            dry_run=dry_run,
            allow_mass_delete=allow_mass_delete,
            extent=extent,
            page=page,
            watermark=watermark,
            again=again,
            confirm=confirm,
            progress=progress or NoProgress(),
        )


@asynccontextmanager
async def _leased(leases: Leases, space: str, *, dry_run: bool) -> AsyncIterator[Confirm]:
    if dry_run:
        yield no_confirmation
        return
    async with leases.held(space) as lease:
        yield lease.confirm

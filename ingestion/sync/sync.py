"""Sync one space of the index with its source, one run at a time.

No state of a run is stored: each page is one transaction, and the next run's plan finds what is
left. A run that is killed at any point is resumed by running again. Narrower readers and removals
are written before any text.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from ingestion.concurrency import for_each
from ingestion.documents.chunker import ChunkSizes, PageLocation, chunk_sizes
from ingestion.embedding_usage import expected_use, use_between, use_of, with_use
from ingestion.folder import FolderSource
from ingestion.records.leases import Confirm, FileLeases, Leases, no_confirmation
from ingestion.sync.pipeline import Pipeline, WriteResult
from ingestion.sync.plan import (
    Versions,
    chunking_of,
    interim_readers,
    narrowed_readers_first,
    plan_run,
    removal_error,
)
from ingestion.sync.report import NoProgress, ReportBuilder
from ingestion.types import (
    Extent,
    IncrementalSource,
    Listing,
    Plan,
    Progress,
    Report,
    Source,
    SourcePage,
)
from rag.ports import Embedder, Index
from rag.types import EVERYONE, Page, Readers

_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class SyncScope:
    """How much of a space to read.

    A source that can't list changes, or has no ``watermark`` yet, or can't find a ``page``, is read
    as a whole; the report says so. ``page`` is an address or id, for the extent "page".
    ``watermark`` is that of the last report. ``again`` are pages that failed before, to be retried
    with the changes.
    """

    extent: Extent = "all"
    page: str = ""
    watermark: str = ""
    again: Collection[str] = ()

    async def listing(self, source: Source) -> tuple[Extent, Listing]:
        """Return what the source lists, and the extent of that. Raises SourceUnavailable."""
        if isinstance(source, IncrementalSource):
            if self.extent == "changes" and self.watermark:
                return "changes", await source.changes(self.watermark, self.again)
            if self.extent == "page":
                return "page", await source.list_page(self.page)
        return "all", await source.list()


WHOLE_SPACE = SyncScope()


async def sync(
    source: Source,
    index: Index,
    embedder: Embedder | None,
    *,
    tenant: str,
    dry_run: bool = False,
    allow_mass_delete: bool = False,
    scope: SyncScope = WHOLE_SPACE,
    confirm: Confirm = no_confirmation,
    progress: Progress,
) -> Report:
    """Make the index hold exactly what the source holds of its space.

    Readers and removals come first, so that forbidden text is gone at once. Unchanged pages cost no
    embedding. Pages that cannot be read are reported and stay as they were. Without an embedder,
    pages can be found by keywords only. A dry run writes nothing.

    Raises:
        SourceUnavailable: the source cannot be listed.
        TooManyRemoved: more than 30 % of the space, and at least 5 pages, would be removed.
        SpaceBlind: the source shows no page at all, and the index has some.
        LeaseLost: by ``confirm``, which is called before each write.
        rag.errors.RagError: index or embedder failed; what is written so far stays.
    """
    started = time.monotonic()
    space = source.space
    extent, listing = await scope.listing(source)
    indexed = await index.pages(tenant, space)
    sizes = chunk_sizes(embedder)
    versions = await _versions(index, embedder, sizes)
    plan = plan_run(listing, indexed, versions)
    refusal = removal_error(plan, listing, space)
    report = ReportBuilder(space, extent, listing, plan, started, embedder is not None)
    if refusal is not None and not allow_mass_delete and not dry_run:
        raise refusal
    expected = await expected_use(
        plan, index, embedder, tenant=tenant, space=space, chunk_tokens=sizes.target
    )
    if dry_run:
        return replace(report.planned(str(refusal or "")), use=expected)
    await _restrict_and_remove(index, plan, indexed, tenant, space, confirm)
    pipeline = Pipeline(
        source=source,
        index=index,
        embedder=embedder,
        place=PageLocation(tenant, space, source.type),
        sizes=sizes,
        versions=versions,
        progress=progress,
        confirm=confirm,
    )
    progress.begin(space, len(plan.to_write), expected)
    before = use_of(embedder)
    written = await _write(pipeline, progress, plan, listing)
    return with_use(report.done(written), use_between(before, use_of(embedder)))


async def _restrict_and_remove(
    index: Index,
    plan: Plan,
    indexed: Mapping[str, Page],
    tenant: str,
    space: str,
    confirm: Confirm,
) -> None:
    """Apply a plan's narrower readers, then its removals, then its wider readers."""

    async def set_readers(page: SourcePage) -> None:
        await confirm()
        await index.set_readers(tenant, space, page.id, page.readers)

    narrowed, widened = narrowed_readers_first(interim_readers(plan, indexed), indexed)
    await for_each(narrowed, set_readers, at_once=_AT_ONCE)
    if plan.removed:
        await confirm()
        await index.delete_pages(tenant, space, plan.removed)
    await for_each(widened, set_readers, at_once=_AT_ONCE)


async def _versions(index: Index, embedder: Embedder | None, sizes: ChunkSizes) -> Versions:
    """Return how versions are computed; without an embedder, existing vectors stay."""
    kept = await index.fingerprint()
    keeps_vectors = embedder is None and kept is not None and kept.embedder != ""
    return Versions(chunking_of(sizes, embedder.name if embedder else None), keeps_vectors)


async def _write(
    pipeline: Pipeline, progress: Progress, plan: Plan, listing: Listing
) -> WriteResult:
    """Write the pages of a plan, and report which ones could not be listed."""
    for finding in listing.failed:
        progress.fail(finding.page, finding.reason)
    try:
        return await pipeline.write(plan.to_write)
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
    scope: SyncScope = WHOLE_SPACE,
    progress: Progress | None = None,
) -> Report:
    """Sync a space with any source, holding its lease; otherwise as sync_folder and sync.

    Also raises LeaseLost: another run may work there by now, and this one wrote nothing more.
    """
    async with nullcontext(no_confirmation) if dry_run else leases.held(source.space) as confirm:
        return await sync(
            source,
            index,
            embedder,
            tenant=tenant,
            dry_run=dry_run,
            allow_mass_delete=allow_mass_delete,
            scope=scope,
            confirm=confirm,
            progress=progress or NoProgress(),
        )

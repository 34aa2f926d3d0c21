"""Brings one space of the index up to date with its source: plan, apply, report.

Nothing about a run is remembered: each page is one transaction, and the next run's plan finds
what is still to do. A run that is killed anywhere is resumed by running again.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ingestion.account import Account
from ingestion.chunk import Place, Ruler, ruler
from ingestion.embedding_use import expected_use, since, use_of, with_use
from ingestion.pipeline import Confirm, Pipeline, unconfirmed
from ingestion.plan import Versions, chunking_of, plan_run, what_stops
from ingestion.ports import FindsPages, ListsChanges, Progress, Source, TellsUse
from ingestion.restricting import restrict_and_remove
from ingestion.types import Extent, Listing, Plan, Report
from rag.ports import Embedder, Index


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
    confirm: Confirm = unconfirmed,
    progress: Progress,
) -> Report:
    """Make the index hold exactly what the source holds of its space.

    Readers and removals come first, so that what may no longer be read is gone at once. Unchanged
    pages cost no embedding. Pages that cannot be read are reported and stay as they were.

    Args:
        source: Where the pages come from.
        index: Where they go.
        embedder: None: they are found by their words alone.
        tenant: Whose pages they are.
        dry_run: Look only.
        allow_mass_delete: Remove even a large share of the space, or all of it.
        extent: How much to look at. A source that can't list changes, or can't yet for want of a
            ``watermark``, or can't find a ``page``, is looked at whole; the report says so.
        page: The one page that "page" means, by address or id.
        watermark: The one of the last report.
        again: Pages that failed before, to be looked at once more with the changes.
        confirm: Asked before each write.
        progress: Who is told.

    Raises:
        SourceUnavailable: the source cannot be listed.
        TooManyRemoved: more than 30 % of the space, and at least 5 pages, would be removed.
        SpaceBlind: the source shows no page at all, and the index has some.
        LeaseLost: by ``confirm``.
        rag.errors.RagError: index or embedder failed; what is written so far stays.
    """
    started = time.monotonic()
    extent = _possible(source, extent, watermark)
    listing = await _listed(source, extent, page, watermark, again)
    indexed = await index.pages(tenant, source.space)
    measure = ruler(embedder)
    versions = await _versions(index, embedder, measure)
    plan = plan_run(listing, indexed, versions)
    stops = what_stops(plan, listing, source.space)
    account = Account(source.space, extent, listing, plan, started, embedder is not None)
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
        place=Place(tenant, source.space, source.type),
        ruler=measure,
        versions=versions,
        progress=progress,
        confirm=confirm,
    )
    before = use_of(embedder)
    if isinstance(progress, TellsUse) and expected is not None:
        progress.expect(len(plan.to_write), expected)
    with _told(progress, source.space, plan, listing):
        written = await pipeline.write(plan.to_write)
    return with_use(account.done(written), since(before, use_of(embedder)))


def _possible(source: Source, extent: Extent, watermark: str) -> Extent:
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


async def _versions(index: Index, embedder: Embedder | None, measure: Ruler) -> Versions:
    """Return how versions are written here; without an embedder, vectors that are there stay."""
    kept = await index.fingerprint()
    keeps_vectors = embedder is None and kept is not None and kept.embedder != ""
    return Versions(chunking_of(measure, embedder.name if embedder else None), keeps_vectors)


@contextmanager
def _told(progress: Progress, space: str, plan: Plan, listing: Listing) -> Iterator[None]:
    """Tell that the pages of a plan are being written, and which could not be looked at."""
    progress.begin(space, len(plan.to_write))
    for finding in listing.failed:
        progress.fail(finding.page, finding.reason)
    try:
        yield
    finally:
        progress.end()

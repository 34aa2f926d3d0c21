"""Brings one space of the index up to date with its source: plan, apply, report.

Nothing about a run is remembered: each page is one transaction, and the next run's plan finds
what is still to do. A run that is killed anywhere is resumed by running again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ingestion.chunk import Place, ruler
from ingestion.embedding_use import expected_use, since, use_of, with_use
from ingestion.pipeline import Confirm, Pipeline, Written, unconfirmed
from ingestion.plan import (
    Versions,
    chunking_of,
    narrowed_first,
    plan_run,
    readers_meanwhile,
    what_stops,
)
from ingestion.ports import FindsPages, ListsChanges, Progress, Source, TellsUse
from ingestion.types import Extent, Finding, Listing, Plan, Report, SourcePage
from rag.ports import Embedder, Index
from rag.types import Page

_AT_ONCE = 4
NO_EMBEDDER = "No embedder: pages are found by their words alone, not by their meaning."


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
    kept = await index.fingerprint()
    keeps_vectors = embedder is None and kept is not None and kept.embedder != ""
    versions = Versions(chunking_of(measure, embedder.name if embedder else None), keeps_vectors)
    plan = plan_run(listing, indexed, versions)
    stops = what_stops(plan, listing, source.space)
    told = _Told(source.space, extent, listing, plan, started, embedder is not None)
    if stops is not None and not allow_mass_delete and not dry_run:
        raise stops
    expected = await expected_use(
        plan, index, embedder, tenant=tenant, space=source.space, chunk_tokens=measure.target
    )
    if dry_run:
        return replace(told.planned(str(stops or "")), use=expected)
    await _restrict_and_remove(index, tenant, source.space, plan, indexed, confirm)
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
    progress.begin(source.space, len(plan.to_write))
    for finding in listing.failed:
        progress.fail(finding.page, finding.reason)
    try:
        written = await pipeline.write(plan.to_write)
    finally:
        progress.end()
    return with_use(told.done(written), since(before, use_of(embedder)))


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


async def _restrict_and_remove(
    index: Index,
    tenant: str,
    space: str,
    plan: Plan,
    indexed: Mapping[str, Page],
    confirm: Confirm,
) -> None:
    """First what fewer may read, and what is gone; then what more may read."""
    narrowed, widened = narrowed_first(readers_meanwhile(plan, indexed), indexed)
    await _set_readers(index, tenant, space, narrowed, confirm)
    if plan.removed:
        await confirm()
        await index.delete_pages(tenant, space, plan.removed)
    await _set_readers(index, tenant, space, widened, confirm)


async def _set_readers(
    index: Index, tenant: str, space: str, pages: Sequence[SourcePage], confirm: Confirm
) -> None:
    places = asyncio.Semaphore(_AT_ONCE)

    async def set_one(page: SourcePage) -> None:
        async with places:
            await confirm()
            await index.set_readers(tenant, space, page.id, page.readers)

    try:
        async with asyncio.TaskGroup() as tasks:
            for page in pages:
                tasks.create_task(set_one(page))
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from group


@dataclass(frozen=True, slots=True)
class _Told:
    """What a run's report is made of."""

    space: str
    extent: Extent
    listing: Listing
    plan: Plan
    started: float
    embeds: bool

    def planned(self, would_stop: str) -> Report:
        """Return the report of a dry run."""
        return replace(
            self._report((), ()),
            dry_run=True,
            would_stop=would_stop,
            warnings=_warnings(would_stop, embeds=self.embeds),
        )

    def done(self, written: Written) -> Report:
        """Return the report of a run that went to its end."""
        return replace(
            self._report(written.failed, written.notes),
            chunks=written.chunks,
            embedded=written.embedded,
        )

    def _report(self, failed: Sequence[Finding], notes: Sequence[Finding]) -> Report:
        listing, plan = self.listing, self.plan
        broken = {finding.page for finding in failed}
        every_note = dict.fromkeys((*listing.notes, *notes))
        return Report(
            space=self.space,
            added=tuple(page.id for page in plan.added if page.id not in broken),
            changed=tuple(page.id for page in plan.changed if page.id not in broken),
            readers_changed=tuple(page.id for page in plan.readers_changed),
            removed=plan.removed,
            unchanged=plan.unchanged,
            skipped=listing.skipped,
            failed=(*listing.failed, *failed),
            notes=tuple(sorted(every_note, key=lambda note: note.page)),
            seconds=time.monotonic() - self.started,
            warnings=_warnings("", embeds=self.embeds),
            extent=self.extent,
            watermark=listing.watermark,
            within=listing.within,
        )


def _warnings(would_stop: str, *, embeds: bool) -> tuple[str, ...]:
    warnings = [] if embeds else [NO_EMBEDDER]
    if would_stop:
        warnings.append(f"A real run would stop: {would_stop}")
    return tuple(warnings)

"""Brings one space of the index up to date with its source: plan, apply, report.

Nothing about a run is remembered: each page is one transaction, and the next run's plan finds
what is still to do. A run that is killed anywhere is resumed by running again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from ingestion.chunk import Place, ruler
from ingestion.pipeline import Pipeline, Written
from ingestion.plan import (
    Versions,
    chunking_of,
    plan_run,
    removes_too_much,
    too_many_removed,
)
from ingestion.ports import Progress, Source
from ingestion.types import Listing, Plan, Report
from rag.ports import Embedder, Index
from rag.types import Page

NO_EMBEDDER = "No embedder: pages are found by their words alone, not by their meaning."


async def sync(
    source: Source,
    index: Index,
    embedder: Embedder | None,
    *,
    tenant: str,
    dry_run: bool = False,
    allow_mass_delete: bool = False,
    progress: Progress,
) -> Report:
    """Make the index hold exactly what the source holds of its space.

    Readers and removals come first, so that what may no longer be read is gone at once. Unchanged
    pages cost no embedding. Pages that cannot be read are reported and stay as they were.

    Raises:
        SourceUnavailable: the source cannot be listed.
        TooManyRemoved: more than 30 % of the space, and at least 5 pages, would be removed.
        rag.errors.RagError: index or embedder failed; what is written so far stays.
    """
    started = time.monotonic()
    listing = await source.list()
    indexed = await index.pages(tenant, source.space)
    measure = ruler(embedder)
    kept = await index.fingerprint()
    keeps_vectors = embedder is None and kept is not None and kept.embedder != ""
    versions = Versions(chunking_of(measure, embedder.name if embedder else None), keeps_vectors)
    plan = plan_run(listing, indexed, versions)
    if dry_run:
        return _report(source.space, listing, plan, None, started, embedder)
    if removes_too_much(plan) and not allow_mass_delete:
        raise too_many_removed(plan, source.space)
    await _restrict_and_remove(index, tenant, source.space, plan, indexed)
    pipeline = Pipeline(
        source=source,
        index=index,
        embedder=embedder,
        place=Place(tenant, source.space, source.type),
        ruler=measure,
        versions=versions,
        progress=progress,
    )
    progress.begin(source.space, len(plan.to_write))
    for finding in listing.failed:
        progress.fail(finding.page, finding.reason)
    try:
        written = await pipeline.write(plan.to_write)
    finally:
        progress.end()
    return _report(source.space, listing, plan, written, started, embedder)


async def _restrict_and_remove(
    index: Index, tenant: str, space: str, plan: Plan, indexed: Mapping[str, Page]
) -> None:
    for page in plan.readers_changed:
        if page.id in indexed:
            await index.set_readers(tenant, space, page.id, page.readers)
    if plan.removed:
        await index.delete_pages(tenant, space, plan.removed)


def _report(
    space: str,
    listing: Listing,
    plan: Plan,
    written: Written | None,
    started: float,
    embedder: Embedder | None,
) -> Report:
    failed = written.failed if written else []
    broken = {finding.page for finding in failed}
    stops = written is None and removes_too_much(plan)
    would_stop = str(too_many_removed(plan, space)) if stops else ""
    notes = dict.fromkeys((*listing.notes, *(written.notes if written else ())))
    return Report(
        space=space,
        added=tuple(page.id for page in plan.added if page.id not in broken),
        changed=tuple(page.id for page in plan.changed if page.id not in broken),
        readers_changed=tuple(page.id for page in plan.readers_changed),
        removed=plan.removed,
        unchanged=plan.unchanged,
        skipped=listing.skipped,
        failed=(*listing.failed, *failed),
        notes=tuple(sorted(notes, key=lambda note: note.page)),
        chunks=written.chunks if written else 0,
        embedded=written.embedded if written else 0,
        seconds=time.monotonic() - started,
        dry_run=written is None,
        warnings=_warnings(embedder, would_stop),
        would_stop=would_stop,
    )


def _warnings(embedder: Embedder | None, would_stop: str) -> tuple[str, ...]:
    warnings = [] if embedder else [NO_EMBEDDER]
    if would_stop:
        warnings.append(f"A real run would stop: {would_stop}")
    return tuple(warnings)

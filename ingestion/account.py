"""What a run comes to, as its report. Pure but for the clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingestion.pipeline import Written
from ingestion.types import Extent, Finding, Listing, Plan, Report

NO_EMBEDDER = "No embedder: pages are found by their words alone, not by their meaning."


@dataclass(frozen=True, slots=True)
class Account:
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
            for_nobody=sum(not page.readers for page in listing.pages),
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

"""What a run has to do: source minus index. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from ingestion.chunk import CHUNKER, Ruler
from ingestion.errors import TooManyRemoved
from ingestion.types import Listing, Plan, SourcePage
from rag.types import Page

MOST_REMOVED_SHARE = 0.3
LEAST_REMOVED = 5
"""A run stops that would remove more than the share of a space, and at least so many pages."""


@dataclass(frozen=True, slots=True)
class Versions:
    """How a page's version is written in the index: its content, then how it was chunked.

    ``any_chunking`` takes pages for unchanged however they were chunked: without an embedder a
    page that has vectors keeps them.
    """

    chunking: str
    any_chunking: bool = False

    def of(self, page: SourcePage) -> str:
        return f"{page.version}-{self.chunking}"

    def same(self, page: SourcePage, indexed: Page) -> bool:
        if self.any_chunking:
            return indexed.version.rpartition("-")[0] == page.version
        return indexed.version == self.of(page)


def chunking_of(ruler: Ruler, embedder_name: str | None) -> str:
    """Return a fingerprint of all that shapes chunks besides the page itself."""
    shape = f"{CHUNKER}/{ruler.target}/{ruler.most}/{embedder_name or 'no embedder'}"
    return hashlib.blake2b(shape.encode(), digest_size=6).hexdigest()


def plan_run(listing: Listing, indexed: Mapping[str, Page], versions: Versions) -> Plan:
    """Compare a source with what the index has of its space.

    Pages that exist and cannot be read now are left as they are.
    """
    added, changed, readers_changed = [], [], []
    for page in listing.pages:
        stored = indexed.get(page.id)
        if stored is None:
            added.append(page)
            continue
        if not versions.same(page, stored):
            changed.append(page)
        if stored.readers != page.readers:
            readers_changed.append(page)
    present = {page.id for page in listing.pages}
    gone = (page_id for page_id in _looked_at(indexed, listing) if page_id not in present)
    return Plan(
        added=tuple(added),
        changed=tuple(changed),
        readers_changed=tuple(readers_changed),
        removed=tuple(sorted(page_id for page_id in gone if not _unreadable(page_id, listing))),
        unchanged=len(listing.pages) - len(added) - len(changed),
        indexed=len(indexed),
    )


def removes_too_much(plan: Plan) -> bool:
    """Whether more of the space would vanish than a person usually deletes at once."""
    removed = len(plan.removed)
    return removed >= LEAST_REMOVED and removed > plan.indexed * MOST_REMOVED_SHARE


def too_many_removed(plan: Plan, space: str) -> TooManyRemoved:
    """Return the error that says what would vanish, and what to do."""
    removed, share = len(plan.removed), round(100 * len(plan.removed) / plan.indexed)
    return TooManyRemoved(
        f"{removed} of {plan.indexed} pages of space {space!r} ({share} %) are gone from the "
        f"source; nothing was changed. If they are meant to go, run again with "
        f"--allow-mass-delete; else look whether the source is complete."
    )


def _looked_at(indexed: Mapping[str, Page], listing: Listing) -> Iterator[str]:
    """Yield the indexed pages that the listing would have, if they were still there."""
    if listing.within is None:
        yield from indexed
        return
    within = frozenset(listing.within)
    for page_id in indexed:
        if not within.isdisjoint(accumulate(page_id.split("/"), "{}/{}".format)):
            yield page_id


def _unreadable(page_id: str, listing: Listing) -> bool:
    return any(
        page_id == finding.page or (finding.page.endswith("/") and page_id.startswith(finding.page))
        for finding in listing.failed
    )

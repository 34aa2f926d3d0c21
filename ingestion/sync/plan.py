"""Compute what a run has to do: the difference between source and index. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from ingestion.documents.chunker import CHUNKER, ChunkSizes
from ingestion.errors import SpaceBlind, TooManyRemoved
from ingestion.types import Listing, Loss, Plan, SourcePage
from ingestion.validation import lets_in_all
from rag.types import EVERYONE, Page, Readers

MOST_REMOVED_SHARE = 0.3
LEAST_REMOVED = 5
"""The mass-deletion limit applies only to removals of at least this many pages."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Computes a page's indexed version: its content's, then that of the chunking.

    ``any_chunking`` ignores the chunking when comparing: without an embedder, a page that has
    vectors keeps them.
    """

    chunking: str
    any_chunking: bool = False

    def of(self, page: SourcePage) -> str:
        return f"{page.version}-{self.chunking}"

    def same(self, page: SourcePage, indexed: Page) -> bool:
        if self.any_chunking:
            return indexed.version.rpartition("-")[0] == page.version
        return indexed.version == self.of(page)


def chunking_of(sizes: ChunkSizes, embedder_name: str | None) -> str:
    """Return a fingerprint of everything that shapes chunks besides the page itself."""
    shape = f"{CHUNKER}/{sizes.target}/{sizes.most}/{embedder_name or 'no embedder'}"
    return hashlib.blake2b(shape.encode(), digest_size=6).hexdigest()


def plan_run(listing: Listing, indexed: Mapping[str, Page], versions: Versions) -> Plan:
    """Compare a source's listing with the indexed pages of its space.

    Pages that exist but cannot be read now are left as they are.
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
    removed = tuple(sorted(page_id for page_id in gone if not _unreadable(page_id, listing)))
    return Plan(
        added=tuple(added),
        changed=tuple(changed),
        readers_changed=tuple(readers_changed),
        removed=removed,
        unchanged=len(listing.pages) - len(added) - len(changed),
        indexed=len(indexed),
        losses=_losses(removed, indexed),
    )


def removal_error(plan: Plan, listing: Listing, space: str) -> TooManyRemoved | None:
    """Return the error if a run would remove too much, or everything; None when it may continue."""
    if _source_shows_nothing(plan, listing):
        return SpaceBlind(
            f"The source shows none of the {plan.indexed} pages of space {space!r} any more; "
            "nothing was changed. It may be out of sight only: look whether the token still may "
            "read it. If they are meant to go, run again with --allow-mass-delete."
        )
    worst = next((loss for loss in plan.losses if _too_much(loss)), None)
    return None if worst is None else _too_many_removed(worst, space)


def interim_readers(plan: Plan, indexed: Mapping[str, Page]) -> Sequence[SourcePage]:
    """Return the pages whose readers change before their text does, with the interim readers.

    An indexed text that is still to be replaced was for its old readers only: until then it is for
    those who are in both the old and the new readers, or passages removed before everybody was
    admitted would be shown to all. The same holds for a text that still shows another page which
    some of its readers may no longer read.
    """
    rewritten = {page.id for page in plan.changed}
    found = []
    for page in dict.fromkeys((*plan.readers_changed, *plan.changed)):
        old = indexed[page.id]
        readers = page.readers
        if page.id in rewritten:
            readers = _meeting_both(old.readers, _old_text_readers(page, old))
        if readers != old.readers:
            found.append(replace(page, readers=readers))
    return found


def _old_text_readers(page: SourcePage, indexed: Page) -> Readers:
    """Return who may read the indexed text of a page that is about to be rewritten."""
    if page.old_text_readers is None or _shown_of_others(indexed) == _shown_of_others(page):
        return page.readers
    return page.old_text_readers


def _shown_of_others(page: SourcePage | Page) -> str:
    """Return the part of a version that identifies the text of other pages."""
    return page.version.partition("-")[0].partition(".")[2]


def narrowed_readers_first(
    pages: Iterable[SourcePage], indexed: Mapping[str, Page]
) -> tuple[Sequence[SourcePage], Sequence[SourcePage]]:
    """Split pages with new readers: those that exclude a former reader, and the others."""
    narrowed: list[SourcePage] = []
    widened: list[SourcePage] = []
    for page in pages:
        only_wider = lets_in_all(page.readers, indexed[page.id].readers)
        (widened if only_wider else narrowed).append(page)
    return narrowed, widened


def _meeting_both(old: Readers, new: Readers) -> Readers:
    if not (old and new):
        return ()
    asked = dict.fromkeys(names for names in (*old, *new) if EVERYONE not in names)
    return tuple(asked) or new


def _source_shows_nothing(plan: Plan, listing: Listing) -> bool:
    """Return whether a source listed as a whole has none of the indexed pages left."""
    something = listing.pages or listing.failed or listing.skipped
    whole = listing.within is None and not listing.sure
    return whole and not something and plan.indexed > 0


def _losses(removed: Sequence[str], indexed: Mapping[str, Page]) -> tuple[Loss, ...]:
    """Count the losses: pages, and separately the attachments of pages that stay.

    An attachment removed with its page does not count: deleting one page with many attachments is
    no mass deletion. A partial listing is also measured against the whole space.
    """
    gone = frozenset(removed)
    pages = {page_id for page_id in indexed if _owner(page_id, indexed) is None}
    hanging = [page_id for page_id in removed if page_id not in pages]
    left = sum(_owner(page_id, indexed) not in gone for page_id in hanging)
    return (
        Loss(len(gone & pages), len(pages)),
        Loss(left, len(indexed) - len(pages), "attachments"),
    )


def _owner(page_id: str, indexed: Mapping[str, Page]) -> str | None:
    """Return the indexed page that an attachment or subpage belongs to."""
    above = accumulate(page_id.split("/")[:-1], "{}/{}".format)
    return next((each for each in above if each in indexed), None)


def _too_much(loss: Loss) -> bool:
    return loss.removed >= LEAST_REMOVED and loss.removed > loss.indexed * MOST_REMOVED_SHARE


def _too_many_removed(loss: Loss, space: str) -> TooManyRemoved:
    share = round(100 * loss.removed / loss.indexed)
    return TooManyRemoved(
        f"{loss.removed} of {loss.indexed} {loss.kind} of space {space!r} ({share} %) are gone "
        "from the source; nothing was changed. If they are meant to go, run again with "
        "--allow-mass-delete; else look whether the source is complete."
    )


def _looked_at(indexed: Mapping[str, Page], listing: Listing) -> Iterator[str]:
    """Yield the indexed pages that the listing would contain if they still existed."""
    if listing.within is None:
        yield from indexed
        return
    within = frozenset(listing.within)
    for page_id in indexed:
        if not within.isdisjoint(accumulate(page_id.split("/"), "{}/{}".format)):
            yield page_id


def _unreadable(page_id: str, listing: Listing) -> bool:
    """Return whether a page's state is unknown: it failed, or the page that it belongs to did."""
    return any(
        page_id == finding.page or page_id.startswith(f"{finding.page.removesuffix('/')}/")
        for finding in listing.failed
    )

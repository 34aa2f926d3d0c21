"""Scan a whole space reliably: a page missing from the scan is missing in Confluence.

A listing may shift while it is paged through, and a token may lose access half-way. So heads are
listed before and after the marks: a page counts as gone only if Confluence confirms that for the
page itself, and a page that was moved in between counts as below both places. Likewise the viewers
of the space are fetched twice. So a page that was restricted throughout, in one place or the other,
never appears open. And text written after the first listing may be in a page that was restricted
meanwhile: the permissions of such pages are fetched again.

The watermark stores how far a space was read: the site's time of the request, and the versions
seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from pydantic import BaseModel, Field, ValidationError

from ingestion.confluence.page_lookup import PageTree
from ingestion.confluence.permissions import PageAccess
from ingestion.confluence.wiki import PageHead, Wiki, WikiSpace
from ingestion.errors import NotVisible, SourceUnavailable

_MOST_DOUBTFUL = 20
_MOST_DOUBTFUL_SHARE = 0.1
"""A scan is rejected if its doubtful pages exceed both this share and _MOST_DOUBTFUL."""


@dataclass(frozen=True, slots=True)
class SpaceScan:
    """The pages of a space, and their hierarchy before and after the scan.

    ``written`` are those that were edited, or became visible, only after the first listing.
    """

    heads: Mapping[str, PageHead]
    before: PageTree
    after: PageTree
    known_before: Collection[str]
    written: Collection[str]


async def scan_space(wiki: Wiki, space: WikiSpace, access: PageAccess) -> SpaceScan:
    """Scan a space. Raises SourceUnavailable where the scan can't be trusted."""
    with staying_visible(space):
        await access.ask_viewers(space)
        first = await _heads(wiki, space)
        marked = await access.know_marks_of(space)
        second = await _heads(wiki, space)
        await access.ask_viewers(space)
    if first and not second:
        raise space_not_visible(space)
    doubtful = (first.keys() | set(marked)) - second.keys()
    await _check(wiki, space, doubtful, second)
    await visible_space(wiki, space.key)
    written = {key for key, head in second.items() if not _unchanged_heads(head, first.get(key))}
    return SpaceScan(second, PageTree(wiki, first), PageTree(wiki, second), first.keys(), written)


def _unchanged_heads(head: PageHead, before: PageHead | None) -> bool:
    return before is not None and before.version == head.version


async def space_with_key(wiki: Wiki, key: str) -> WikiSpace | None:
    """Return a space; None when it is deleted or hidden."""
    return next((space for space in await wiki.spaces([key]) if space.key == key), None)


async def visible_space(wiki: Wiki, key: str) -> WikiSpace:
    """Return a space that the token can see now. Raises SourceUnavailable."""
    space = await space_with_key(wiki, key)
    if space is None:
        raise SourceUnavailable(
            f"Confluence shows no space {key!r}; what is indexed of it was kept. Check that it "
            "still is there and that the account of CONFLUENCE_TOKEN may view it."
        )
    return space


async def ensure_pages_visible(wiki: Wiki, space: WikiSpace) -> None:
    """Check that a page is not missing merely because the token lost access to everything.

    Raises SourceUnavailable.
    """
    await visible_space(wiki, space.key)
    with staying_visible(space):
        async for _ in wiki.heads(space):
            return
    raise space_not_visible(space)


@contextmanager
def staying_visible(space: WikiSpace) -> Iterator[None]:
    """Raise SourceUnavailable where the space turns out to be no longer visible."""
    try:
        yield
    except NotVisible as error:
        raise space_not_visible(space) from error


def space_not_visible(space: WikiSpace) -> SourceUnavailable:
    """Return the error for a space that is no longer visible."""
    return SourceUnavailable(
        f"Confluence stopped showing the space {space.key!r} while it was read; what is indexed of "
        "it was kept. Check that the account of CONFLUENCE_TOKEN may still view it."
    )


async def _heads(wiki: Wiki, space: WikiSpace) -> dict[str, PageHead]:
    return newest_by_id([head async for head in wiki.heads(space)])


def newest_by_id(heads: Iterable[PageHead]) -> dict[str, PageHead]:
    """Return heads by id; of a page that was listed twice, the newest version."""
    found: dict[str, PageHead] = {}
    for head in heads:
        if head.id not in found or found[head.id].version <= head.version:
            found[head.id] = head
    return found


async def _check(
    wiki: Wiki, space: WikiSpace, doubtful: Collection[str], heads: dict[str, PageHead]
) -> None:
    """Add the doubtful pages that exist after all."""
    if len(doubtful) > max(_MOST_DOUBTFUL, len(heads) * _MOST_DOUBTFUL_SHARE):
        raise SourceUnavailable(
            f"Confluence showed {len(doubtful)} pages of the space {space.key!r} and then did not, "
            f"besides {len(heads)} that it kept showing; what is indexed was kept. Check what the "
            "account of CONFLUENCE_TOKEN may view, and read the space again."
        )
    for page_id in sorted(doubtful):
        head = await page_in_space(wiki, space, page_id)
        if head is not None:
            heads[page_id] = head


async def page_in_space(wiki: Wiki, space: WikiSpace, page_id: str) -> PageHead | None:
    """Return a page of a space; None when it is deleted, hidden or in another space."""
    head = await visible_page(wiki, page_id)
    return head if head and head.space_key == space.key else None


async def visible_page(wiki: Wiki, page_id: str) -> PageHead | None:
    """Return a page; None when it is deleted or hidden."""
    try:
        return await wiki.head(page_id)
    except NotVisible:
        return None


OVERLAP = timedelta(minutes=10)
"""Allowance for the lag of the site's search index and clock differences; fetched twice."""

_MOST_SEEN = 1000


class _StoredWatermark(BaseModel):
    asked_at: datetime
    space: tuple[str, str, str, str]
    seen: dict[str, int] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Watermark:
    """State that ``changes`` needs from the previous listing.

    ``seen`` are the versions of pages already read that the overlap of the next query returns
    again; equal versions are skipped.
    """

    asked_at: datetime
    space: WikiSpace
    seen: Mapping[str, int]

    @property
    def since(self) -> datetime:
        return self.asked_at - OVERLAP

    @classmethod
    def after(cls, asked_at: datetime, space: WikiSpace, heads: Iterable[PageHead]) -> Self:
        """Return the watermark of a listing, given the site's time at its request."""
        late = [head for head in heads if head.updated_at >= asked_at - OVERLAP]
        late.sort(key=lambda head: head.updated_at, reverse=True)
        return cls(asked_at, space, {head.id: head.version for head in late[:_MOST_SEEN]})

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse a stored watermark; return None for one that is not Confluence's."""
        try:
            read = _StoredWatermark.model_validate_json(text)
        except ValidationError:
            return None
        if read.asked_at.tzinfo is None:
            return None
        return cls(read.asked_at, WikiSpace(*read.space), read.seen)

    def __str__(self) -> str:
        place = (self.space.id, self.space.key, self.space.name, self.space.url)
        written = _StoredWatermark(asked_at=self.asked_at, space=place, seen=dict(self.seen))
        return written.model_dump_json()

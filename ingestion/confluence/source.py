"""Read the spaces of one Confluence, each as a source of pages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from urllib.parse import urlsplit

from ingestion.confluence.attachments import AttachmentReader
from ingestion.confluence.client.retry import AT_ONCE
from ingestion.confluence.client.urls import AddressTarget, address_target
from ingestion.confluence.listing import OfferedFile, SpaceContents, SpaceListing
from ingestion.confluence.page_reader import PageReader
from ingestion.confluence.permissions import Rules
from ingestion.confluence.space_scan import (
    Watermark,
    ensure_pages_visible,
    page_in_space,
    staying_visible,
    visible_page,
    visible_space,
)
from ingestion.confluence.wiki import FailureStreak, PageHead, Wiki, WikiSpace
from ingestion.errors import (
    DocumentUnknown,
    PageUnreadable,
    SourceUnavailable,
    WikiUnavailable,
)
from ingestion.types import Document, Finding, Listing, SourcePage
from ingestion.validation import shortened

KIND = "confluence"
_MANY = 200
"""With more changed pages than this, listing the whole space is faster."""

_AHEAD = timedelta(days=1)


def _now() -> datetime:
    return datetime.now(UTC)


class ConfluenceSource:
    """Reads one space of Confluence.

    Implements ``ingestion.types.IncrementalSource``. A page's id is ``12345``, that of a file on it
    ``12345/att678``. A version is that of the listing: a page that is edited before it is read is
    indexed with its new text under the listed version, so that the next listing finds it changed.

    Args:
        wiki: the site.
        space: the space's key.
        rules: what is read of it.
        now: the time.
    """

    type: ClassVar[str] = KIND
    at_once: ClassVar[int] = AT_ONCE

    def __init__(
        self, wiki: Wiki, space: str, rules: Rules, *, now: Callable[[], datetime] = _now
    ) -> None:
        self.space = space
        self._wiki = wiki
        self._rules = rules
        self._now = now
        self._files = AttachmentReader(wiki, rules.largest)
        self._reader: PageReader | None = None
        self._seen = SpaceContents()
        self._failures_in_a_row = FailureStreak()

    async def list(self) -> Listing:
        """Return every page and file. Raises SourceUnavailable where some might be missing."""
        space = await visible_space(self._wiki, self.space)
        reason = self._rules.selection.space(space)
        if reason:
            return Listing(pages=(), skipped=(Finding(space.key, reason),))
        asked_at = await self._asked_at(space)
        looks = self._looks(space)
        self._seen, surveyed = await looks.whole()
        mark = Watermark.after(asked_at, space, surveyed.heads.values())
        return self._seen.listing(within=None, watermark=str(mark))

    async def changes(self, watermark: str, again: Collection[str]) -> Listing:
        """Return what was edited since, with ``within`` set; everything for an unknown watermark.

        Takes one or two requests when nothing changed.
        """
        mark = Watermark.parse(watermark)
        if mark is None or mark.space.key != self.space:
            return await self.list()
        with staying_visible(mark.space):
            changed = await self._wiki.changed(mark.space, mark.since)
        heads = {one.id: one for one in changed.heads if mark.seen.get(one.id) != one.version}
        asked = heads.keys() | {one.partition("/")[0] for one in again}
        found = await self._found(mark.space, asked, heads)
        newer = str(Watermark.after(changed.asked_at, mark.space, changed.heads))
        return await self._some(mark.space, asked, found, newer)

    async def list_page(self, page: str) -> Listing:
        named = address_target(page.partition("/")[0] if page[:1].isdigit() else page)
        space = await visible_space(self._wiki, self.space)
        page_id = await self._id_of(named) if named else None
        if page_id is None:
            raise DocumentUnknown(
                f"{shortened(page)} is not a page of the space {self.space!r}. Use the address "
                f"that "
                "the browser shows, or the page's id."
            )
        head = await visible_page(self._wiki, page_id)
        if head is not None and head.space_key != self.space:
            raise DocumentUnknown(
                f"{shortened(page)} is a page of the space {head.space_key!r}, not of "
                f"{self.space!r}."
            )
        if head is None:
            await ensure_pages_visible(self._wiki, space)
        return await self._some(space, {page_id}, [head] if head else [], "")

    async def read(self, page: SourcePage) -> Document:
        """Return a page or file. Raises PageUnreadable, and WikiUnavailable if many fail."""
        try:
            document = await self._read(page)
        except WikiUnavailable as error:
            self._failures_in_a_row.count(error)
            raise PageUnreadable(str(error)) from error
        self._failures_in_a_row.reset()
        return document

    async def _read(self, page: SourcePage) -> Document:
        page_id = page.id.partition("/")[0]
        if page.id not in self._seen.pages or self._reader is None:
            raise PageUnreadable("was not listed; list the space, or this page, first")
        if page.id in self._seen.files:
            return await self._file(self._seen.files[page.id])
        return await self._reader.read(self._seen.offers[page_id], page)

    async def _file(self, file: OfferedFile) -> Document:
        """Return a file of the listed version; a newer one may be for fewer readers."""
        document = await self._files.read(file.attachment, file.offer.labels)
        now = await self._wiki.attachments(file.attachment.page_id)
        if (file.attachment.id, file.attachment.version) not in {(o.id, o.version) for o in now}:
            raise PageUnreadable("changed while it was read; it is tried again")
        return document

    async def _found(
        self, space: WikiSpace, asked: Iterable[str], heads: dict[str, PageHead]
    ) -> Sequence[PageHead]:
        """Return the heads of the pages that exist; if any is missing, check the token's access."""
        missing = [page_id for page_id in asked if page_id not in heads]
        looked_up = [await page_in_space(self._wiki, space, page_id) for page_id in missing]
        found = [head for head in looked_up if head is not None]
        if len(found) < len(missing):
            await ensure_pages_visible(self._wiki, space)
        return [*heads.values(), *found]

    async def _some(
        self, space: WikiSpace, asked: Collection[str], heads: Sequence[PageHead], watermark: str
    ) -> Listing:
        looks = self._looks(space)
        if len(heads) > _MANY:
            self._seen, _ = await looks.whole()
        else:
            self._seen = await looks.some(heads)
            if heads and len(self._seen.offers) + len(self._seen.skipped) < len(heads):
                await ensure_pages_visible(self._wiki, space)
        return self._seen.listing(within=tuple(sorted(asked)), watermark=watermark)

    def _looks(self, space: WikiSpace) -> SpaceListing:
        def anew() -> SpaceListing:
            return SpaceListing(self._wiki, space, self._rules, now=self._now)

        looks = anew()
        self._reader = PageReader(self._wiki, looks, anew)
        return looks

    async def _asked_at(self, space: WikiSpace) -> datetime:
        """Return the site's own time, by a query for future edits, which matches no page."""
        with staying_visible(space):
            return (await self._wiki.changed(space, self._now() + _AHEAD)).asked_at

    async def _id_of(self, named: AddressTarget) -> str | None:
        if named.page_id is not None:
            return named.page_id
        if named.title is None:
            return None
        head = await self._wiki.titled(named.space or self.space, named.title)
        return head.id if head else None


_BELIEVED_SECONDS = 60.0


class ConfluenceSources:
    """Lists the spaces of one site, each as a source.

    Implements ``ingestion.runs.source_registry.Sources``.

    Args:
        wiki: the site.
        url: its web address; addresses elsewhere are not pages of it.
        rules: which spaces are read, and what of them.
        clock: monotonic seconds.
    """

    def __init__(
        self, wiki: Wiki, *, url: str, rules: Rules, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._wiki = wiki
        self._hosts = frozenset({_host(url)})
        self._rules = rules
        self._clock = clock
        self._known: Mapping[str, WikiSpace] = {}
        self._until = float("-inf")
        self._asking = asyncio.Lock()

    async def spaces(self) -> Sequence[str]:
        """Return the keys of the spaces that are read. Raises SourceUnavailable."""
        allowed = self._rules.selection.space
        return sorted(key for key, space in (await self._all()).items() if not allowed(space))

    async def listing_error(self) -> str:
        """Return why the list of spaces is unavailable now; "" when it is available."""
        try:
            await self._all()
        except SourceUnavailable as error:
            return str(error)
        return ""

    async def source(self, space: str) -> ConfluenceSource:
        """Return a space as a source, also one that is no longer read, which then lists nothing.

        A space that the settings name is not checked first: its source raises if it is gone. Raises
        DocumentUnknown, SourceUnavailable.
        """
        if space not in self._rules.selection.spaces and space not in await self._all():
            raise DocumentUnknown(
                f"Confluence shows no space {shortened(space)}. Check its key, and that the "
                "account of CONFLUENCE_TOKEN may view it."
            )
        return ConfluenceSource(self._wiki, space, self._rules)

    async def space_of(self, url: str) -> str | None:
        """Return the space of the page at an address of this site; None for other addresses.

        Raises SourceUnavailable.
        """
        named = address_target(url) if await self._is_ours(url) else None
        if named is None:
            return None
        key = await self._key(named)
        known = (await self._all()).get(key) if key else None
        return known.key if known and not self._rules.selection.space(known) else None

    async def close(self) -> None:
        await self._wiki.close()

    async def _is_ours(self, url: str) -> bool:
        host = _host(url)
        if not host:
            return url.strip().isdigit()
        if host in self._hosts:
            return True
        # Behind Atlassian's gateway, web addresses and API addresses have different hosts.
        return host in {_host(space.url) for space in (await self._all()).values()}

    async def _key(self, named: AddressTarget) -> str | None:
        if named.page_id is None:
            return named.space
        head = await visible_page(self._wiki, named.page_id)
        # A deleted page may still be indexed; its address names the space.
        return head.space_key if head else named.space

    async def _all(self) -> Mapping[str, WikiSpace]:
        async with self._asking:
            if self._clock() >= self._until:
                self._known = {space.key: space for space in await self._wiki.spaces()}
                self._until = self._clock() + _BELIEVED_SECONDS
            return self._known


def _host(url: str) -> str:
    return urlsplit(url.strip()).netloc.lower()

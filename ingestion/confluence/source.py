"""One space of Confluence as a source of pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from ingestion.confluence.client.pacing import AT_ONCE
from ingestion.confluence.client.urls import Named, named_by
from ingestion.confluence.errors import NotVisible, WikiUnavailable
from ingestion.confluence.files import Files
from ingestion.confluence.looks import Looks
from ingestion.confluence.ports import Wiki
from ingestion.confluence.reading import Reader
from ingestion.confluence.references import wanted
from ingestion.confluence.rules import Rules
from ingestion.confluence.seen import Attached, Seen
from ingestion.confluence.setbacks import Setbacks
from ingestion.confluence.survey import head_in, lost_sight, still_seen, visible
from ingestion.confluence.types import PageHead, WikiSpace
from ingestion.confluence.watermark import Watermark
from ingestion.errors import DocumentUnknown, PageUnreadable
from ingestion.names import shortened
from ingestion.types import Document, Finding, Listing, SourcePage

KIND = "confluence"
_MANY = 200
"""So many changed pages are looked at faster by looking at all."""

_AHEAD = timedelta(days=1)


def _now() -> datetime:
    return datetime.now(UTC)


class ConfluenceSource:
    """Implements ingestion.ports.Source, ListsChanges, FindsPages and ReadsAhead.

    A page is ``12345``, a file on it ``12345/att678``. A version is that of the listing: a page
    that is edited before it is read is indexed as it then is, under the version before, so that
    the next look finds it changed.

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
        self._files = Files(wiki, rules.largest)
        self._reader: Reader | None = None
        self._seen = Seen()
        self._setbacks = Setbacks()

    async def list(self) -> Listing:
        """Return every page and file. Raises SourceUnavailable where some might be missing."""
        space = await visible(self._wiki, self.space)
        reason = self._rules.selection.space(space)
        if reason:
            return Listing(pages=(), skipped=(Finding(space.key, reason),))
        asked_at = await self._asked_at(space)
        looks = self._looks(space)
        self._seen, surveyed = await looks.whole()
        mark = Watermark.after(asked_at, space, surveyed.heads.values())
        return self._seen.listing(within=None, watermark=str(mark))

    async def changes(self, watermark: str, again: Collection[str]) -> Listing:
        """Return what was edited since, with ``within`` set; all, for an unknown watermark.

        One or two requests when that is nothing.
        """
        mark = Watermark.parse(watermark)
        if mark is None or mark.space.key != self.space:
            return await self.list()
        try:
            changed = await self._wiki.changed(mark.space, mark.since)
        except NotVisible as error:
            raise lost_sight(mark.space) from error
        heads = {one.id: one for one in changed.heads if mark.seen.get(one.id) != one.version}
        asked = heads.keys() | {one.partition("/")[0] for one in again}
        found = await self._found(mark.space, asked, heads)
        newer = str(Watermark.after(changed.asked_at, mark.space, changed.heads))
        return await self._some(mark.space, asked, found, newer)

    async def only(self, page: str) -> Listing:
        named = named_by(page.partition("/")[0] if page[:1].isdigit() else page)
        space = await visible(self._wiki, self.space)
        page_id = await self._id_of(named) if named else None
        if page_id is None:
            raise DocumentUnknown(
                f"{shortened(page)} names no page of the space {self.space!r}. Give the address "
                "that the browser shows above the page, or its id."
            )
        head = await self._head(page_id)
        if head is not None and head.space_key != self.space:
            raise DocumentUnknown(
                f"{shortened(page)} is a page of the space {head.space_key!r}, not of "
                f"{self.space!r}."
            )
        if head is None:
            await still_seen(self._wiki, space)
        return await self._some(space, {page_id}, [head] if head else [], "")

    async def read(self, page: SourcePage) -> Document:
        """Return a page or file. Raises PageUnreadable, and WikiUnavailable if many fail."""
        try:
            document = await self._read(page)
        except WikiUnavailable as error:
            self._setbacks.bear(error)
            raise PageUnreadable(str(error)) from error
        self._setbacks.over()
        return document

    async def _read(self, page: SourcePage) -> Document:
        page_id = page.id.partition("/")[0]
        if page.id not in self._seen.pages or self._reader is None:
            raise PageUnreadable("was not listed; list the space, or this page, first")
        if page.id in self._seen.files:
            return await self._file(self._seen.files[page.id])
        return await self._reader.read(self._seen.offers[page_id], page)

    async def _file(self, file: Attached) -> Document:
        """Return a file as it was listed; a newer one may be for fewer people."""
        document = await self._files.read(file.attachment, file.offer.labels)
        now = await self._wiki.attachments(file.attachment.page_id)
        if (file.attachment.id, file.attachment.version) not in {(o.id, o.version) for o in now}:
            raise PageUnreadable("changed while it was read; it is tried again")
        return document

    async def _found(
        self, space: WikiSpace, asked: Iterable[str], heads: dict[str, PageHead]
    ) -> Sequence[PageHead]:
        """Return the heads of all pages that are there; the space is seen if one is not."""
        missing = [page_id for page_id in asked if page_id not in heads]
        looked_up = [await head_in(self._wiki, space, page_id) for page_id in missing]
        found = [head for head in looked_up if head is not None]
        if len(found) < len(missing):
            await still_seen(self._wiki, space)
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
                await still_seen(self._wiki, space)
        return self._seen.listing(within=tuple(sorted(asked)), watermark=watermark)

    def _looks(self, space: WikiSpace) -> Looks:
        def anew() -> Looks:
            return Looks(self._wiki, space, self._rules, wanted=wanted, now=self._now)

        looks = anew()
        self._reader = Reader(self._wiki, looks, anew)
        return looks

    async def _asked_at(self, space: WikiSpace) -> datetime:
        """Return the site's own time; what is newer than tomorrow is nothing."""
        try:
            return (await self._wiki.changed(space, self._now() + _AHEAD)).asked_at
        except NotVisible as error:
            raise lost_sight(space) from error

    async def _id_of(self, named: Named) -> str | None:
        if named.page_id is not None:
            return named.page_id
        if named.title is None:
            return None
        head = await self._wiki.titled(named.space or self.space, named.title)
        return head.id if head else None

    async def _head(self, page_id: str) -> PageHead | None:
        try:
            return await self._wiki.head(page_id)
        except NotVisible:
            return None

"""Read one offered page as blocks, resolving the people, pages and files that it refers to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import islice
from typing import TypeVar

import structlog

from ingestion.confluence.listing import SpaceListing
from ingestion.confluence.offers import Offer
from ingestion.confluence.page_lookup import DisplayNames
from ingestion.confluence.storage.convert import convert, needs
from ingestion.confluence.storage.writer import Converted, FileRef, Needs, PageRef, Resolve
from ingestion.confluence.wiki import PageHead, Wiki, WikiPage
from ingestion.errors import PageUnreadable
from ingestion.text import clean
from ingestion.types import Document, SourcePage

log = structlog.get_logger(__name__)

_Ref = TypeVar("_Ref", bound=Hashable)

_MOST = 500
"""Limit of links and people looked up per page; others keep the name that the page gives."""


class References:
    """Resolves references for one run; each is looked up once."""

    def __init__(self, wiki: Wiki, names: DisplayNames) -> None:
        self._wiki = wiki
        self._names = names

    async def resolve(
        self, page: WikiPage, included: Iterable[PageHead], looks: SpaceListing
    ) -> Resolve:
        """Return a page's resolved references, with the text of ``included`` pages only."""
        shown = [page, *await self._texts(included, looks)]
        asked = [needs(one.storage, one.head.space_key) for one in shown]
        texts = {one.head.id: one.storage for one in shown[1:]}
        space = page.head.space_key
        refs = _first_distinct(ref for one in asked for ref in (*one.includes, *one.pages))
        found = await self._heads(refs, space, looks)
        users = _first_distinct(user for one in asked for user in one.users)
        return Resolve(
            here=PageRef(space, page.head.title),
            users={user: name for user in users if (name := await self._names.get(user))},
            pages={ref: head.url for ref, head in found.items()},
            files=await self._files(page, asked[0], looks),
            includes={ref: texts[one.id] for ref, one in found.items() if one.id in texts},
        )

    async def _heads(
        self, refs: Iterable[PageRef], space: str, looks: SpaceListing
    ) -> Mapping[PageRef, PageHead]:
        titled = looks.lookup.titled
        heads = {ref: await titled(ref.space or space, ref.title) for ref in refs}
        return {ref: head for ref, head in heads.items() if head is not None}

    async def _texts(self, included: Iterable[PageHead], looks: SpaceListing) -> list[WikiPage]:
        """Return the included pages that have not changed since their readers were determined."""
        texts = []
        for one in included:
            page = await looks.texts.get(one.id)
            if page.head.version == one.version:
                texts.append(page)
        return texts

    async def _files(
        self, page: WikiPage, asked: Needs, looks: SpaceListing
    ) -> Mapping[FileRef, str]:
        found: dict[FileRef, str] = {}
        for owner in _first_distinct(ref.page for ref in asked.files):
            urls = await self._urls(page, owner, looks)
            refs = (ref for ref in asked.files if ref.page == owner)
            found |= {ref: urls[ref.name] for ref in refs if ref.name in urls}
        return found

    async def _urls(
        self, page: WikiPage, owner: PageRef | None, looks: SpaceListing
    ) -> Mapping[str, str]:
        head: PageHead | None = page.head
        if owner is not None:
            space = owner.space or page.head.space_key
            head = await looks.lookup.titled(space, owner.title)
        if head is None:
            return {}
        try:
            return {one.name: one.url for one in await self._wiki.attachments(head.id)}
        except PageUnreadable:
            return {}


def _first_distinct(refs: Iterable[_Ref]) -> list[_Ref]:
    """Return the first references in order without duplicates, up to the limit."""
    return list(islice(dict.fromkeys(refs), _MOST))


_CHANGED_READERS = (
    "was changed while it was read, and others may read it now; the next run takes it"
)
_CHANGED_INCLUDES = (
    "was changed while it was read, and includes other pages now; the next run takes it"
)


class PageReader:
    """Reads the pages of one run.

    Args:
        wiki: the Confluence site.
        looks: the listing in which the pages were offered.
        anew: returns a listing with empty caches.
    """

    def __init__(self, wiki: Wiki, looks: SpaceListing, anew: Callable[[], SpaceListing]) -> None:
        self._looks = looks
        self._anew = anew
        self._names = DisplayNames(wiki)
        self._references = References(wiki, self._names)

    async def read(self, offer: Offer, page: SourcePage) -> Document:
        """Return a page's document. Raises PageUnreadable, WikiUnavailable."""
        body = await self._looks.texts.take(page.id)
        looks = self._looks
        if _place_and_text(body.head) != _place_and_text(offer.head):
            looks = self._anew()
            offer = await self._again(looks, body, page, offer)
        resolve = await self._references.resolve(body, offer.included, looks)
        converted = await asyncio.to_thread(_converted, body, resolve)
        return await self._document(body, converted)

    async def _again(
        self, looks: SpaceListing, body: WikiPage, page: SourcePage, listed: Offer
    ) -> Offer:
        """Return a new offer of a page that changed after it was listed.

        Text added meanwhile may be for fewer readers: then the page is not read in this run.
        """
        offer = (await looks.some([body.head])).offers.get(page.id)
        if offer is None or offer.page.readers != page.readers:
            raise PageUnreadable(_CHANGED_READERS)
        if _ids(offer.included) != _ids(listed.included):
            # The listed version is the one stored, and it is computed from the listed includes.
            raise PageUnreadable(_CHANGED_INCLUDES)
        return offer

    async def _document(self, body: WikiPage, converted: Converted) -> Document:
        macros = sorted(converted.unknown_macros.items())
        return Document(
            title=" ".join(clean(body.head.title).split()),
            blocks=converted.blocks,
            labels=body.labels,
            updated_at=body.head.updated_at,
            notes=(
                *converted.notes,
                *(_unknown_macros_note(name, times) for name, times in macros),
            ),
            updated_by=await self._names.get(body.head.updated_by),
        )


def _converted(body: WikiPage, resolve: Resolve) -> Converted:
    """Return a page's blocks. Raises PageUnreadable, so that the other pages are read."""
    try:
        return convert(body.storage, resolve)
    except PageUnreadable:
        raise
    except Exception as error:  # a page may hold anything, and one must not stop a space
        log.warning("page.not_converted", page=body.head.id, error=type(error).__name__)
        raise PageUnreadable("cannot be read: its text has a form that is not known") from error


def _ids(heads: Iterable[PageHead]) -> frozenset[str]:
    return frozenset(head.id for head in heads)


def _place_and_text(head: PageHead) -> tuple[int, str | None]:
    """Return the values that change when a page is edited or moved.

    Changes of its ancestors alone are left to the next run: the text is still the one that the
    listed readers may read.
    """
    return head.version, head.parent_id


def _unknown_macros_note(name: str, times: int) -> str:
    often = "once" if times == 1 else f"{times} times"
    return f"unknown macro {name!r} ({often}); its text was kept"

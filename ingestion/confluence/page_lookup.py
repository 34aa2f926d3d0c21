"""Look up pages, their text, their ancestors and people's names, each with a bounded cache.

What a listing of a whole space returned is not requested again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Iterable, Mapping, Sequence

from ingestion.confluence.wiki import FailureStreak, PageHead, Wiki, WikiPage
from ingestion.errors import PageUnreadable, WikiUnavailable
from ingestion.text import clean
from rag.types import BoundedDict

AncestorIds = tuple[str, ...] | None
"""The ids of a page's ancestors, outermost first; None where they are unknown."""


class PageTree:
    """Resolves the ancestors of listed pages.

    A parent missing from the listing is a folder, a whiteboard, or a page that is not current or
    not visible; Confluence is then asked, once for all pages below it.
    """

    def __init__(self, wiki: Wiki, heads: Mapping[str, PageHead]) -> None:
        self._wiki = wiki
        self._heads = heads
        self._above: dict[str, AncestorIds] = {}
        self._failures_in_a_row = FailureStreak()

    async def chain(self, page_id: str) -> AncestorIds:
        """Return the ancestors of a listed page."""
        path: list[str] = []
        at = self._heads[page_id]
        while at.parent_id is not None:
            if at.parent_id == page_id or at.parent_id in path:
                return None
            if at.parent_id not in self._heads:
                above = await self._unlisted(at.parent_id, at.id)
                return None if above is None else (*above, *reversed(path))
            path.append(at.parent_id)
            at = self._heads[at.parent_id]
        return tuple(reversed(path))

    async def _unlisted(self, parent: str, child: str) -> AncestorIds:
        if parent not in self._above:
            self._above[parent] = await self._asked(parent, child)
        return self._above[parent]

    async def _asked(self, parent: str, child: str) -> AncestorIds:
        try:
            chain = await self._wiki.ancestors(child)
        except PageUnreadable:
            return None
        except WikiUnavailable as error:
            self._failures_in_a_row.count(error)
            return None
        # A page that was moved meanwhile counts as below both places, which restricts it more.
        return chain if parent in chain else (*chain, parent)


_MOST_KEPT = 4096


class PageLookup:
    """Looks up titles by page id, and pages by title.

    After ``whole``, nothing about that space is requested: a page that was not listed is missing.
    """

    def __init__(self, wiki: Wiki, space_key: str) -> None:
        self._wiki = wiki
        self._space_key = space_key
        self._heads: Mapping[str, PageHead] | None = None
        self._titled: Mapping[str, PageHead] = {}
        self._by_id = BoundedDict[str, PageHead | None](_MOST_KEPT)
        self._by_title = BoundedDict[tuple[str, str], PageHead | None](_MOST_KEPT)

    def whole(self, heads: Mapping[str, PageHead]) -> None:
        """Store the complete listing of the space."""
        self._heads = heads
        self._titled = _titled(heads.values())

    async def titles(self, page_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the titles of pages; folders and hidden pages are left out."""
        found = [await self._page(page_id) for page_id in page_ids]
        return tuple(head.title for head in found if head is not None)

    async def titled(self, space_key: str, title: str) -> PageHead | None:
        """Return the page of a space that has a title."""
        if self._heads is not None and space_key == self._space_key:
            return self._titled.get(title)
        key = (space_key, title)
        if key not in self._by_title:
            self._by_title[key] = await _if_readable(self._wiki.titled(space_key, title))
        return self._by_title[key]

    async def _page(self, page_id: str) -> PageHead | None:
        if self._heads is not None:
            return self._heads.get(page_id)
        if page_id not in self._by_id:
            self._by_id[page_id] = await _if_readable(self._wiki.head(page_id))
        return self._by_id[page_id]


async def _if_readable(asking: Awaitable[PageHead | None]) -> PageHead | None:
    try:
        return await asking
    except PageUnreadable:
        return None


def _titled(heads: Iterable[PageHead]) -> dict[str, PageHead]:
    """Return heads by title; a page takes precedence over a blog post with the same title."""
    return {head.title: head for head in sorted(heads, key=lambda head: head.kind == "page")}


_MOST_CHARACTERS = 16 * 1024 * 1024


class PageTexts:
    """Caches the last pages fetched, so that the text read is the one that was listed."""

    def __init__(self, wiki: Wiki, most: int = _MOST_CHARACTERS) -> None:
        self._wiki = wiki
        self._most = most
        self._size = 0
        self._kept: OrderedDict[str, WikiPage] = OrderedDict()

    async def get(self, page_id: str) -> WikiPage:
        """Return a page, from the cache if possible. Raises as ``Wiki.page``."""
        if page_id not in self._kept:
            return await self.fresh(page_id)
        self._kept.move_to_end(page_id)
        return self._kept[page_id]

    async def fresh(self, page_id: str) -> WikiPage:
        """Fetch a page now, and cache it."""
        page = await self._wiki.page(page_id)
        self.drop(page_id)
        self._kept[page_id] = page
        self._size += len(page.storage)
        while self._size > self._most and self._kept:
            _, old = self._kept.popitem(last=False)
            self._size -= len(old.storage)
        return page

    async def take(self, page_id: str) -> WikiPage:
        """Return a page and drop it from the cache; its ancestors may be missing."""
        if page_id not in self._kept:
            return await self._wiki.page(page_id, above=False)
        page = await self.get(page_id)
        self.drop(page_id)
        return page

    def drop(self, page_id: str) -> None:
        old = self._kept.pop(page_id, None)
        self._size -= len(old.storage) if old else 0


_MOST_NAMES = 2000


class DisplayNames:
    """Caches the display names of the people last looked up."""

    def __init__(self, wiki: Wiki) -> None:
        self._wiki = wiki
        self._known = BoundedDict[str, str](_MOST_NAMES)

    async def get(self, user_id: str) -> str:
        """Return a person's name; "" without a person, and where the name is hidden."""
        if not user_id:
            return ""
        if user_id not in self._known:
            self._known[user_id] = await self._asked(user_id)
        return self._known[user_id]

    async def _asked(self, user_id: str) -> str:
        try:
            return " ".join(clean((await self._wiki.user(user_id)).name).split())
        except PageUnreadable:
            return ""

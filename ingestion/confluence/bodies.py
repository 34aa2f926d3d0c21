"""Pages with their text, fetched once and kept for a while, within bounds."""

from __future__ import annotations

from collections import OrderedDict

from ingestion.confluence.ports import Wiki
from ingestion.confluence.types import WikiPage

_MOST_CHARACTERS = 16 * 1024 * 1024


class Bodies:
    """Keeps what was fetched last; what is read of a page is then what was looked at."""

    def __init__(self, wiki: Wiki, most: int = _MOST_CHARACTERS) -> None:
        self._wiki = wiki
        self._most = most
        self._size = 0
        self._kept: OrderedDict[str, WikiPage] = OrderedDict()

    async def get(self, page_id: str) -> WikiPage:
        """Return a page, fetched now unless it is kept. Raises as ``Wiki.page``."""
        if page_id not in self._kept:
            return await self.fresh(page_id)
        self._kept.move_to_end(page_id)
        return self._kept[page_id]

    async def fresh(self, page_id: str) -> WikiPage:
        """Return a page as it is now, and keep that."""
        page = await self._wiki.page(page_id)
        self.drop(page_id)
        self._kept[page_id] = page
        self._size += len(page.storage)
        while self._size > self._most and self._kept:
            _, old = self._kept.popitem(last=False)
            self._size -= len(old.storage)
        return page

    async def take(self, page_id: str) -> WikiPage:
        """Return a page that is not needed again after this, maybe without its ancestors."""
        if page_id not in self._kept:
            return await self._wiki.page(page_id, above=False)
        page = await self.get(page_id)
        self.drop(page_id)
        return page

    def drop(self, page_id: str) -> None:
        old = self._kept.pop(page_id, None)
        self._size -= len(old.storage) if old else 0

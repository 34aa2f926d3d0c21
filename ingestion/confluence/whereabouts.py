"""Pages by id and by title: as a whole listing told, else as Confluence is asked, once each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

from ingestion.confluence.ports import Wiki
from ingestion.confluence.types import PageHead
from ingestion.errors import PageUnreadable

_MOST_KEPT = 4096
_Key = tuple[str, str]


class Whereabouts:
    """Answers what a page is called, and which page is called so.

    With ``whole``, nothing about that space is asked: what was not listed is not there.
    """

    def __init__(self, wiki: Wiki, space_key: str) -> None:
        self._wiki = wiki
        self._space_key = space_key
        self._heads: Mapping[str, PageHead] | None = None
        self._titled: Mapping[str, PageHead] = {}
        self._by_id: OrderedDict[str, PageHead | None] = OrderedDict()
        self._by_title: OrderedDict[_Key, PageHead | None] = OrderedDict()

    def whole(self, heads: Mapping[str, PageHead]) -> None:
        """Take over the whole listing of the space."""
        self._heads = heads
        self._titled = _titled(heads.values())

    async def titles(self, page_ids: Sequence[str]) -> tuple[str, ...]:
        """Return what pages are called; folders, and what can't be seen, are left out."""
        found = [await self._page(page_id) for page_id in page_ids]
        return tuple(head.title for head in found if head is not None)

    async def titled(self, space_key: str, title: str) -> PageHead | None:
        """Return the page of a space that has a title."""
        if self._heads is not None and space_key == self._space_key:
            return self._titled.get(title)
        key = (space_key, title)
        if key not in self._by_title:
            _keep(self._by_title, key, await self._asked_for_title(space_key, title))
        return self._by_title[key]

    async def _page(self, page_id: str) -> PageHead | None:
        if self._heads is not None:
            return self._heads.get(page_id)
        if page_id not in self._by_id:
            _keep(self._by_id, page_id, await self._asked_for(page_id))
        return self._by_id[page_id]

    async def _asked_for(self, page_id: str) -> PageHead | None:
        try:
            return await self._wiki.head(page_id)
        except PageUnreadable:
            return None

    async def _asked_for_title(self, space_key: str, title: str) -> PageHead | None:
        try:
            return await self._wiki.titled(space_key, title)
        except PageUnreadable:
            return None


def _titled(heads: Iterable[PageHead]) -> dict[str, PageHead]:
    """Return heads by title; where a blog post is called as a page is, the page."""
    return {head.title: head for head in sorted(heads, key=lambda head: head.kind == "page")}


def _keep(
    kept: OrderedDict[str, PageHead | None] | OrderedDict[_Key, PageHead | None],
    key: str | _Key,
    head: PageHead | None,
) -> None:
    kept[key] = head  # type: ignore[index]
    if len(kept) > _MOST_KEPT:
        kept.popitem(last=False)

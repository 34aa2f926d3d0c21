"""Which pages a page shows parts of, and who may read those.

Whoever may read a page need not be allowed to read what it includes; in the index its text is one,
so readers of both alone may read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ingestion.confluence.access import Access
from ingestion.confluence.bodies import Bodies
from ingestion.confluence.errors import WikiUnavailable
from ingestion.confluence.ports import Wiki
from ingestion.confluence.types import PageHead, WikiPage, WikiSpace
from ingestion.confluence.whereabouts import Whereabouts
from ingestion.errors import PageUnreadable
from rag.types import Readers

DEEPEST = 2
"""An included page's own includes are resolved, and theirs are links."""

_MOST = 50

Wanted = Callable[[str], Iterable[tuple[str, str]]]
"""Which pages a text in storage format includes: space key, "" for the page's own, and title."""


@dataclass(frozen=True, slots=True)
class Included:
    """A page that is shown in part on another one."""

    head: PageHead
    readers: Readers


class Includes:
    """Finds included pages; those that can't be seen, or that nobody may read, stay links."""

    def __init__(
        self, wiki: Wiki, access: Access, whereabouts: Whereabouts, bodies: Bodies, wanted: Wanted
    ) -> None:
        self._wiki = wiki
        self._access = access
        self._whereabouts = whereabouts
        self._bodies = bodies
        self._wanted = wanted
        self._spaces: dict[str, WikiSpace | None] = {}
        self._known: dict[str, tuple[WikiPage, Readers] | None] = {}

    async def of(self, head: PageHead) -> tuple[Included, ...] | None:
        """Return the pages that one shows parts of; None when that can't be told."""
        try:
            page = await self._bodies.get(head.id)
            found = await self._below(page, DEEPEST, {head.id: None})
        except PageUnreadable:
            return ()
        except WikiUnavailable:
            return None
        return tuple(sorted(found, key=lambda one: one.head.id))

    async def _below(
        self, page: WikiPage, depth: int, seen: dict[str, Included | None]
    ) -> list[Included]:
        for space_key, title in list(self._wanted(page.storage))[:_MOST]:
            head = await self._whereabouts.titled(space_key or page.head.space_key, title)
            if head is None or head.id in seen or len(seen) > _MOST:
                continue
            known = await self._readable(head.id)
            if known is None:
                continue
            included, readers = known
            seen[head.id] = Included(included.head, readers)
            if depth > 1:
                await self._below(included, depth - 1, seen)
        return [one for one in seen.values() if one is not None]

    async def _readable(self, page_id: str) -> tuple[WikiPage, Readers] | None:
        if page_id not in self._known:
            self._known[page_id] = await self._looked_up(page_id)
        return self._known[page_id]

    async def _looked_up(self, page_id: str) -> tuple[WikiPage, Readers] | None:
        try:
            page = await self._bodies.get(page_id)
            space = await self._space(page.head.space_key)
        except PageUnreadable:
            return None
        if space is None:
            return None
        self._access.forget((page_id, *page.ancestors))
        await self._access.ask_viewers(space)
        allowed = await self._access.of(space, page_id, page.ancestors)
        return (page, allowed.readers) if allowed.readers else None

    async def _space(self, key: str) -> WikiSpace | None:
        if key not in self._spaces:
            found = [space for space in await self._wiki.spaces([key]) if space.key == key]
            self._spaces[key] = found[0] if found and not found[0].archived else None
        return self._spaces[key]

"""Which pages a page shows parts of, and whether all its readers may read those.

Whoever may read a page need not be allowed to read what it includes, and in the index its text is
one. So only what all its readers may read is shown there; the rest stays a link.
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
from ingestion.readers import NOBODY, lets_in_all
from rag.types import Readers

DEEPEST = 2
"""An included page's own includes are resolved, and theirs are links."""

_MOST = 50

Wanted = Callable[[str], Iterable[tuple[str, str]]]
"""Which pages a text in storage format includes: space key, "" for the page's own, and title."""

_Known = tuple[WikiPage | None, Readers]

_Part = PageHead | Readers
"""An included page, or who may read the one that is left out."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a page includes: ``shown`` with its text, or ``withheld`` from some of its readers."""

    shown: tuple[PageHead, ...] = ()
    withheld: tuple[Readers, ...] = ()

    @property
    def narrower(self) -> bool:
        """Whether something is withheld that others may read."""
        return any(self.withheld)


class Includes:
    """Finds included pages; those that not all readers of a page may read stay links there."""

    def __init__(
        self, wiki: Wiki, access: Access, whereabouts: Whereabouts, bodies: Bodies, wanted: Wanted
    ) -> None:
        self._wiki = wiki
        self._access = access
        self._whereabouts = whereabouts
        self._bodies = bodies
        self._wanted = wanted
        self._spaces: dict[str, WikiSpace | None] = {}
        self._known: dict[str, _Known] = {}

    async def of(self, head: PageHead, readers: Readers) -> Parts | None:
        """Return what a page for these readers includes; None when that can't be told."""
        found: dict[str, _Part] = {}
        try:
            await self._below(await self._bodies.get(head.id), DEEPEST, readers, found)
        except PageUnreadable:
            return Parts()
        except WikiUnavailable:
            return None
        found.pop(head.id, None)
        shown = [one for one in found.values() if isinstance(one, PageHead)]
        return Parts(
            shown=tuple(sorted(shown, key=lambda one: one.id)),
            withheld=tuple(one for one in found.values() if not isinstance(one, PageHead)),
        )

    async def _below(
        self, page: WikiPage, depth: int, readers: Readers, found: dict[str, _Part]
    ) -> None:
        """Add what a page includes, and what that includes; ``found`` holds the page itself."""
        found.setdefault(page.head.id, page.head)
        for named, title in list(self._wanted(page.storage))[:_MOST]:
            space_key = named or page.head.space_key
            head = await self._whereabouts.titled(space_key, title)
            if head is None:
                found[f"{space_key}:{title}"] = NOBODY
            elif head.id not in found and len(found) <= _MOST:
                await self._take(head.id, depth, readers, found)

    async def _take(
        self, page_id: str, depth: int, readers: Readers, found: dict[str, _Part]
    ) -> None:
        page, allowed = await self._readable(page_id)
        if page is None or not lets_in_all(allowed, readers):
            found[page_id] = allowed
            return
        found[page_id] = page.head
        if depth > 1:
            await self._below(page, depth - 1, readers, found)

    async def _readable(self, page_id: str) -> _Known:
        if page_id not in self._known:
            self._known[page_id] = await self._looked_up(page_id)
        return self._known[page_id]

    async def _looked_up(self, page_id: str) -> _Known:
        """Return a page and who may read it; None where it can't be seen or nobody may."""
        try:
            page = await self._bodies.get(page_id)
            space = await self._space(page.head.space_key)
        except PageUnreadable:
            return None, NOBODY
        if space is None:
            return None, NOBODY
        self._access.forget((page_id, *page.ancestors))
        await self._access.ask_viewers(space)
        allowed = await self._access.of(space, page_id, page.ancestors)
        return (page, allowed.readers) if allowed.readers else (None, NOBODY)

    async def _space(self, key: str) -> WikiSpace | None:
        if key not in self._spaces:
            found = [space for space in await self._wiki.spaces([key]) if space.key == key]
            self._spaces[key] = found[0] if found and not found[0].archived else None
        return self._spaces[key]

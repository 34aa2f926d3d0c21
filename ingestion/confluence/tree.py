"""What hangs under what in a space, as its listing shows it."""

from __future__ import annotations

from collections.abc import Mapping

from ingestion.confluence.errors import WikiUnavailable
from ingestion.confluence.ports import Wiki
from ingestion.confluence.setbacks import Setbacks
from ingestion.confluence.types import PageHead
from ingestion.errors import PageUnreadable

Chain = tuple[str, ...] | None
"""The ids of what a page hangs under, outermost first; None where that can't be told."""


class Tree:
    """Follows pages up to the top of their space.

    A parent that the listing does not show is a folder, a whiteboard, or a page that is not
    current or not to be seen; then Confluence is asked, once for all that hang there.
    """

    def __init__(self, wiki: Wiki, heads: Mapping[str, PageHead]) -> None:
        self._wiki = wiki
        self._heads = heads
        self._above: dict[str, Chain] = {}
        self._setbacks = Setbacks()

    async def chain(self, page_id: str) -> Chain:
        """Return what a listed page hangs under."""
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

    async def _unlisted(self, parent: str, child: str) -> Chain:
        if parent not in self._above:
            self._above[parent] = await self._asked(parent, child)
        return self._above[parent]

    async def _asked(self, parent: str, child: str) -> Chain:
        try:
            chain = await self._wiki.ancestors(child)
        except PageUnreadable:
            return None
        except WikiUnavailable as error:
            self._setbacks.bear(error)
            return None
        # A page that was moved meanwhile hangs under both, to be safe.
        return chain if parent in chain else (*chain, parent)

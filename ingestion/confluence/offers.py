"""From what Confluence says of a page to what the source offers: place, readers, version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ingestion.confluence.access import NOT_TOLD, Access, Allowed
from ingestion.confluence.includes import Includes, Parts
from ingestion.confluence.permissions import all_of
from ingestion.confluence.selection import Selection
from ingestion.confluence.tree import Chain
from ingestion.confluence.types import PageHead, WikiSpace
from ingestion.confluence.versions import page_version
from ingestion.confluence.whereabouts import Whereabouts
from ingestion.types import Finding, SourcePage

NOT_FOR_ALL = "includes text that not all its readers may read; a link to it stays in its place"


@dataclass(frozen=True, slots=True)
class Offer:
    """A page that the source offers, and what is known of it besides.

    ``included`` are the pages whose text it shows; ``narrower`` tells whether it includes others
    that not all its readers may read. ``doubt`` is why nobody is shown it; "" where Confluence
    told who may read it.
    """

    head: PageHead
    page: SourcePage
    labels: tuple[str, ...]
    chain: Chain = None
    included: tuple[PageHead, ...] = ()
    narrower: bool = False
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """Makes offers of the pages of one space."""

    space: WikiSpace
    access: Access
    includes: Includes
    whereabouts: Whereabouts
    selection: Selection
    now: Callable[[], datetime]

    async def of(
        self, head: PageHead, chains: Sequence[Chain], *, includes: bool
    ) -> Offer | Finding:
        """Return a page's offer, or why it is left out.

        Args:
            head: the page.
            chains: what it hangs under now, then what it hung under while it was looked at.
            includes: whether it may show parts of other pages.
        """
        marks = await self.access.marks(head.id)
        labels = marks.labels if marks else ()
        reason = self.selection.page(head, labels=labels, chain=chains[0] or (), now=self.now())
        if reason:
            return Finding(head.id, reason)
        allowed = await self._allowed(head, chains)
        parts = await self.includes.of(head, allowed.readers) if includes else Parts()
        if parts is None:
            allowed, parts = Allowed((), "what it includes can't be read; see that page"), Parts()
        return await self._offer(head, chains[0], labels, allowed, parts)

    async def _allowed(self, head: PageHead, chains: Sequence[Chain]) -> Allowed:
        known = [chain for chain in dict.fromkeys(chains) if chain is not None]
        if len(known) < len(set(chains)) or not known:
            return Allowed((), NOT_TOLD)
        found = [await self.access.of(self.space, head.id, chain) for chain in known]
        doubt = next((one.doubt for one in found if one.doubt), "")
        first, *more = (one.readers for one in found)
        return Allowed(all_of(first, *more), doubt)

    async def _offer(
        self,
        head: PageHead,
        chain: Chain,
        labels: tuple[str, ...],
        allowed: Allowed,
        parts: Parts,
    ) -> Offer:
        ancestors = await self.whereabouts.titles(chain or ())
        shown = [(one.id, one.version) for one in parts.shown]
        page = SourcePage(
            id=head.id,
            version=page_version(head, ancestors=ancestors, labels=labels, included=shown),
            readers=allowed.readers,
            url=head.url,
            ancestors=ancestors,
            old_text_readers=(all_of(allowed.readers, *parts.withheld) if parts.withheld else None),
        )
        return Offer(head, page, labels, chain, parts.shown, parts.narrower, allowed.doubt)

"""Offer a page to the index: its ancestors, readers, version, and included pages.

The readers of a page need not be allowed to read the pages that it includes, but in the index its
text is one. So an included text is shown only if all readers of the page may read it; otherwise it
stays a link.

A version is a fingerprint of everything that shapes a page's document and its ancestors. Readers
are excluded: they change without new text. Listing a page, as a whole space or alone, must give the
same version; so addresses, which Confluence returns in two forms, are excluded too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ingestion.confluence.page_lookup import AncestorIds, PageLookup, PageTexts
from ingestion.confluence.permissions import (
    RESTRICTIONS_UNREADABLE,
    AllowedReaders,
    PageAccess,
    Selection,
    readers_meeting_all,
)
from ingestion.confluence.storage.convert import needs
from ingestion.confluence.wiki import PageHead, Wiki, WikiAttachment, WikiPage, WikiSpace
from ingestion.documents.convert import CONVERTER
from ingestion.errors import PageUnreadable, WikiUnavailable
from ingestion.types import Finding, SourcePage
from ingestion.validation import NOBODY, lets_in_all
from rag.types import Readers

READER_VERSION = 2
"""Incremented whenever the same Confluence page yields a different document."""


def page_version(
    head: PageHead,
    *,
    ancestors: Sequence[str],
    labels: Iterable[str],
    included: Iterable[tuple[str, int]] = (),
) -> str:
    """Return a page's fingerprint; ``included`` are ids and versions of the pages shown in it.

    Those form a part of their own, after a ``.``: see ingestion.types.SourcePage.
    """
    own = _digest(
        *(READER_VERSION, head.kind, head.version, head.title, "ancestors", *ancestors),
        *("labels", *sorted(labels), "included"),
    )
    shown = [part for one in sorted(included) for part in one]
    return f"{own}.{_digest(*shown)}" if shown else own


def attachment_version(
    attachment: WikiAttachment, *, ancestors: Sequence[str], labels: Iterable[str]
) -> str:
    """Return an attachment's fingerprint; its page is the last of ``ancestors``."""
    shape = (READER_VERSION, CONVERTER, attachment.version, attachment.name)
    return _digest(*shape, "ancestors", *ancestors, "labels", *sorted(labels))


def _digest(*parts: object) -> str:
    shape = "\0".join(str(part) for part in parts)
    return hashlib.blake2b(shape.encode(errors="replace"), digest_size=16).hexdigest()


DEEPEST = 2
"""Depth to which includes within included pages are resolved; deeper ones are links."""

_MOST_INCLUDED = 50

_KnownPage = tuple[WikiPage | None, Readers]

_IncludedPart = PageHead | Readers
"""An included page, or the readers of a withheld one."""


@dataclass(frozen=True, slots=True)
class IncludedPages:
    """The pages that a page includes: ``shown`` with text, or ``withheld`` from some readers."""

    shown: tuple[PageHead, ...] = ()
    withheld: tuple[Readers, ...] = ()

    @property
    def narrower(self) -> bool:
        """Return whether a page is withheld that somebody may read."""
        return any(self.withheld)


class Includes:
    """Resolves included pages; those that not all readers of a page may read stay links."""

    def __init__(
        self, wiki: Wiki, access: PageAccess, lookup: PageLookup, texts: PageTexts
    ) -> None:
        self._wiki = wiki
        self._access = access
        self._lookup = lookup
        self._texts = texts
        self._spaces: dict[str, WikiSpace | None] = {}
        self._known: dict[str, _KnownPage] = {}

    async def resolve(self, head: PageHead, readers: Readers) -> IncludedPages | None:
        """Return the pages that a page with these readers includes; None when that is unknown."""
        found: dict[str, _IncludedPart] = {}
        try:
            await self._below(await self._texts.get(head.id), DEEPEST, readers, found)
        except PageUnreadable:
            return IncludedPages()
        except WikiUnavailable:
            return None
        found.pop(head.id, None)
        shown = [one for one in found.values() if isinstance(one, PageHead)]
        return IncludedPages(
            shown=tuple(sorted(shown, key=lambda one: one.id)),
            withheld=tuple(one for one in found.values() if not isinstance(one, PageHead)),
        )

    async def _below(
        self, page: WikiPage, depth: int, readers: Readers, found: dict[str, _IncludedPart]
    ) -> None:
        """Add a page's includes recursively; ``found`` already holds the page itself."""
        found.setdefault(page.head.id, page.head)
        for named, title in needs(page.storage).includes[:_MOST_INCLUDED]:
            space_key = named or page.head.space_key
            head = await self._lookup.titled(space_key, title)
            if head is None:
                found[f"{space_key}:{title}"] = NOBODY
            elif head.id not in found and len(found) <= _MOST_INCLUDED:
                await self._take(head.id, depth, readers, found)

    async def _take(
        self, page_id: str, depth: int, readers: Readers, found: dict[str, _IncludedPart]
    ) -> None:
        page, allowed = await self._readable(page_id)
        if page is None or not lets_in_all(allowed, readers):
            found[page_id] = allowed
            return
        found[page_id] = page.head
        if depth > 1:
            await self._below(page, depth - 1, readers, found)

    async def _readable(self, page_id: str) -> _KnownPage:
        if page_id not in self._known:
            self._known[page_id] = await self._looked_up(page_id)
        return self._known[page_id]

    async def _looked_up(self, page_id: str) -> _KnownPage:
        """Return a page and its readers; None where it is not visible or nobody may read it."""
        try:
            page = await self._texts.get(page_id)
            space = await self._space(page.head.space_key)
        except PageUnreadable:
            return None, NOBODY
        if space is None:
            return None, NOBODY
        self._access.forget((page_id, *page.ancestors))
        await self._access.ask_viewers(space)
        allowed = await self._access.readers_of(space, page_id, page.ancestors)
        return (page, allowed.readers) if allowed.readers else (None, NOBODY)

    async def _space(self, key: str) -> WikiSpace | None:
        if key not in self._spaces:
            found = [space for space in await self._wiki.spaces([key]) if space.key == key]
            self._spaces[key] = found[0] if found and not found[0].archived else None
        return self._spaces[key]


NOT_FOR_ALL = "includes text that not all its readers may read; a link to it stays in its place"


@dataclass(frozen=True, slots=True)
class Offer:
    """An offered page, and what else the listing found out about it.

    ``included`` are the pages whose text it shows; ``narrower`` is whether it includes others that
    not all its readers may read. ``doubt`` is why nobody may read it; "" where Confluence returned
    its readers.
    """

    head: PageHead
    page: SourcePage
    labels: tuple[str, ...]
    chain: AncestorIds = None
    included: tuple[PageHead, ...] = ()
    narrower: bool = False
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """Builds the offers of the pages of one space."""

    space: WikiSpace
    access: PageAccess
    includes: Includes
    lookup: PageLookup
    selection: Selection
    now: Callable[[], datetime]

    async def offer(
        self, head: PageHead, chains: Sequence[AncestorIds], *, includes: bool
    ) -> Offer | Finding:
        """Return a page's offer, or why it is left out.

        Args:
            head: the page.
            chains: its ancestors now, then those that it had during the listing.
            includes: whether it may show parts of other pages.
        """
        marks = await self.access.marks(head.id)
        labels = marks.labels if marks else ()
        reason = self.selection.page(head, labels=labels, chain=chains[0] or (), now=self.now())
        if reason:
            return Finding(head.id, reason)
        allowed = await self._allowed(head, chains)
        parts = await self.includes.resolve(head, allowed.readers) if includes else IncludedPages()
        if parts is None:
            allowed, parts = (
                AllowedReaders((), "what it includes can't be read; see that page"),
                IncludedPages(),
            )
        return await self._offer(head, chains[0], labels, allowed, parts)

    async def _allowed(self, head: PageHead, chains: Sequence[AncestorIds]) -> AllowedReaders:
        known = [chain for chain in dict.fromkeys(chains) if chain is not None]
        if len(known) < len(set(chains)) or not known:
            return AllowedReaders((), RESTRICTIONS_UNREADABLE)
        found = [await self.access.readers_of(self.space, head.id, chain) for chain in known]
        doubt = next((one.doubt for one in found if one.doubt), "")
        first, *more = (one.readers for one in found)
        return AllowedReaders(readers_meeting_all(first, *more), doubt)

    async def _offer(
        self,
        head: PageHead,
        chain: AncestorIds,
        labels: tuple[str, ...],
        allowed: AllowedReaders,
        parts: IncludedPages,
    ) -> Offer:
        ancestors = await self.lookup.titles(chain or ())
        shown = [(one.id, one.version) for one in parts.shown]
        page = SourcePage(
            id=head.id,
            version=page_version(head, ancestors=ancestors, labels=labels, included=shown),
            readers=allowed.readers,
            url=head.url,
            ancestors=ancestors,
            old_text_readers=(
                readers_meeting_all(allowed.readers, *parts.withheld) if parts.withheld else None
            ),
        )
        return Offer(head, page, labels, chain, parts.shown, parts.narrower, allowed.doubt)

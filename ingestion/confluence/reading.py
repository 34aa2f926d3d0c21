"""Reads one offered page: its text as blocks, with all that it refers to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from ingestion.confluence.looks import Looks
from ingestion.confluence.names import Names
from ingestion.confluence.offers import Offer
from ingestion.confluence.ports import Wiki
from ingestion.confluence.references import References
from ingestion.confluence.storage.convert import convert
from ingestion.confluence.storage.types import Converted
from ingestion.confluence.types import PageHead, WikiPage
from ingestion.errors import PageUnreadable
from ingestion.text import clean
from ingestion.types import Document, SourcePage

_CHANGED_READERS = (
    "was changed while it was read, and others may read it now; the next run takes it"
)
_CHANGED_INCLUDES = (
    "was changed while it was read, and includes other pages now; the next run takes it"
)


class Reader:
    """Reads the pages of one run.

    Args:
        wiki: who is asked.
        looks: the look in which the pages were offered.
        anew: makes a look that knows nothing yet.
    """

    def __init__(self, wiki: Wiki, looks: Looks, anew: Callable[[], Looks]) -> None:
        self._looks = looks
        self._anew = anew
        self._names = Names(wiki)
        self._references = References(wiki, self._names)

    async def read(self, offer: Offer, page: SourcePage) -> Document:
        """Return a page's document. Raises PageUnreadable, WikiUnavailable."""
        body = await self._looks.bodies.take(page.id)
        looks = self._looks
        if _place_and_text(body.head) != _place_and_text(offer.head):
            looks = self._anew()
            offer = await self._again(looks, body, page, offer)
        resolve = await self._references.of(body, offer.included, looks)
        converted = await asyncio.to_thread(convert, body.storage, resolve)
        return await self._document(body, converted)

    async def _again(self, looks: Looks, body: WikiPage, page: SourcePage, listed: Offer) -> Offer:
        """Return the offer of a page that is no longer as it was listed.

        What was written in meanwhile may be for fewer people: then it is not read now.
        """
        offer = (await looks.some([body.head])).offers.get(page.id)
        if offer is None or offer.page.readers != page.readers:
            raise PageUnreadable(_CHANGED_READERS)
        if _ids(offer.included) != _ids(listed.included):
            # It is kept under the version that was listed, which says what it shows of others.
            raise PageUnreadable(_CHANGED_INCLUDES)
        return offer

    async def _document(self, body: WikiPage, converted: Converted) -> Document:
        macros = sorted(converted.unknown_macros.items())
        return Document(
            title=" ".join(clean(body.head.title).split()),
            blocks=converted.blocks,
            labels=body.labels,
            updated_at=body.head.updated_at,
            notes=(*converted.notes, *(_unknown(name, times) for name, times in macros)),
            updated_by=await self._names.of(body.head.updated_by),
        )


def _ids(heads: Iterable[PageHead]) -> frozenset[str]:
    return frozenset(head.id for head in heads)


def _place_and_text(head: PageHead) -> tuple[int, str | None]:
    """Return what tells a page from itself before it was edited or moved.

    What only its ancestors did meanwhile is left to the next run: the text is still the one that
    was for those who were listed.
    """
    return head.version, head.parent_id


def _unknown(name: str, times: int) -> str:
    often = "once" if times == 1 else f"{times} times"
    return f"unknown macro {name!r} ({often}); its text was kept"

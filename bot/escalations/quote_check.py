"""Check whether quotes of past answers are still on their pages, and may still be read there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from rag.ports import ReadsChunks
from rag.types import EVERYONE, Chunk, PageSummary, Principal

QuoteState = Literal["there", "changed", "restricted", "gone", "unknown"]
"""there: the page says it byte for byte. changed: it does no more. restricted: not everyone may
read it, although everyone was told. gone: there is no such page. unknown: who looks may not read
it, and what a private answer was made of is nobody else's to know."""

_EVERYBODY = frozenset({EVERYONE})


@dataclass(frozen=True, slots=True)
class CitedQuote:
    """A quote and where it was found; ``space`` "" where that was not kept yet.

    ``public``: it was told where others read along.
    """

    space: str
    page_id: str
    chunk_id: str
    quote: str
    public: bool


class HoldsPages(Protocol):
    """What is asked of an index. Raises rag.errors.IndexUnavailable."""

    async def spaces(self, tenant: str) -> Mapping[str, int]: ...

    async def page(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        """Return a page's chunks; empty when there is none or it may not be read."""
        ...

    async def page_summary(
        self, tenant: str, space: str, page_id: str, readers: frozenset[Principal] | None
    ) -> PageSummary | None:
        """Return one page; None when there is none or it may not be seen, by None: by anybody."""
        ...


class QuoteCheck:
    """Looks at each page once, however many answers quote it; made anew for each view.

    Args:
        index: Where the pages are.
        tenant: Whose they are.
        reader: The principals of who looks.
    """

    def __init__(self, index: HoldsPages, tenant: str, reader: frozenset[Principal]) -> None:
        self._index = index
        self._tenant = tenant
        self._reader = reader | _EVERYBODY
        self._pages: dict[tuple[str, str, bool], Sequence[Chunk]] = {}
        self._spaces: Sequence[str] | None = None

    async def fates(self, quoted: Collection[CitedQuote]) -> Mapping[CitedQuote, QuoteState]:
        """Return what became of each. Raises rag.errors.IndexUnavailable."""
        as_before = await self._as_before({each.chunk_id for each in quoted})
        fates: dict[CitedQuote, QuoteState] = {}
        for each in quoted:
            chunk = as_before.get(each.chunk_id)
            same = chunk is not None and chunk.page_id == each.page_id
            there = chunk is not None and same and each.quote in chunk.text
            fates[each] = "there" if there else await self._fate(each)
        return fates

    async def _as_before(self, chunk_ids: Collection[str]) -> Mapping[str, Chunk]:
        """Return the chunks that are still there and open to all, where that is one request."""
        if not chunk_ids or not isinstance(self._index, ReadsChunks):
            return {}
        return await self._index.chunks(self._tenant, chunk_ids, _EVERYBODY)

    async def _fate(self, quoted: CitedQuote) -> QuoteState:
        chunks = await self._chunks(quoted)
        if any(quoted.quote in chunk.text for chunk in chunks):
            return "there"
        if chunks:
            return "changed"
        if not await self._is_there(quoted):
            return "gone"
        return "restricted" if quoted.public else "unknown"

    async def _chunks(self, quoted: CitedQuote) -> Sequence[Chunk]:
        readers = _EVERYBODY if quoted.public else self._reader
        return [
            chunk
            for space in await self._spaces_of(quoted)
            for chunk in await self._page(space, quoted.page_id, readers)
        ]

    async def _page(
        self, space: str, page_id: str, readers: frozenset[Principal]
    ) -> Sequence[Chunk]:
        key = (space, page_id, readers == _EVERYBODY)
        if key not in self._pages:
            self._pages[key] = await self._index.page(self._tenant, space, page_id, readers)
        return self._pages[key]

    async def _is_there(self, quoted: CitedQuote) -> bool:
        for space in await self._spaces_of(quoted):
            if await self._index.page_summary(self._tenant, space, quoted.page_id, None):
                return True
        return False

    async def _spaces_of(self, quoted: CitedQuote) -> Sequence[str]:
        if quoted.space:
            return [quoted.space]
        if self._spaces is None:
            self._spaces = list(await self._index.spaces(self._tenant))
        return self._spaces

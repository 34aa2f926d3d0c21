"""Check whether the quotes of past answers are still on their pages and readable."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rag.ports import ReadsChunks, SearchIndex
from rag.types import EVERYONE, Chunk, Principal

QuoteState = Literal["there", "changed", "restricted", "gone", "unknown"]
"""there: the page contains the quote verbatim. changed: no longer. restricted: no longer readable
by everyone, although everyone saw the answer. gone: the page does not exist. unknown: the viewer
may not read the page of a private answer, so its state is not revealed."""

_EVERYBODY = frozenset({EVERYONE})


@dataclass(frozen=True, slots=True)
class CitedQuote:
    """A quote and its page; ``space`` is "" in old records.

    ``public``: the answer was posted where others read along.
    """

    space: str
    page_id: str
    chunk_id: str
    quote: str
    public: bool


class QuoteCheck:
    """Check quotes, reading each page once; create a new instance for each view.

    Args:
        index: Holds the pages.
        tenant: Owner of the pages.
        reader: The viewer's principals.
    """

    def __init__(self, index: SearchIndex, tenant: str, reader: frozenset[Principal]) -> None:
        self._index = index
        self._tenant = tenant
        self._reader = reader | _EVERYBODY
        self._pages: dict[tuple[str, str, bool], Sequence[Chunk]] = {}
        self._spaces: Sequence[str] | None = None

    async def fates(self, quoted: Collection[CitedQuote]) -> Mapping[CitedQuote, QuoteState]:
        """Return the state of each quote. Raises rag.errors.IndexUnavailable."""
        as_before = await self._as_before({each.chunk_id for each in quoted})
        fates: dict[CitedQuote, QuoteState] = {}
        for each in quoted:
            chunk = as_before.get(each.chunk_id)
            same = chunk is not None and chunk.page_id == each.page_id
            there = chunk is not None and same and each.quote in chunk.text
            fates[each] = "there" if there else await self._fate(each)
        return fates

    async def _as_before(self, chunk_ids: Collection[str]) -> Mapping[str, Chunk]:
        """Return the chunks that everyone may still read, if the index reads by chunk id."""
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

"""The next version of an index, filled while the present one is read, then put in its place."""

from __future__ import annotations

import asyncio

from rag.errors import IndexUnavailable
from rag.index.azure.documents import CHUNK, Facts
from rag.index.azure.filters import equals
from rag.index.azure.index import AzureIndex, Parts
from rag.index.azure.queries import count

_SEEN_WITHIN_SECONDS = 60.0
_LOOKED_EVERY_SECONDS = 0.5


class Rebuild:
    """``index`` takes the pages; ``finish`` lets everybody read them."""

    def __init__(self, name: str, begun: Facts, parts: Parts) -> None:
        self.index = AzureIndex(parts, begun.fingerprint)
        self._name = name
        self._begun = begun
        self._parts = parts

    async def finish(self, *, seen_within_seconds: float = _SEEN_WITHIN_SECONDS) -> str:
        """Let the name stand for the new version; return the new version's own name.

        The former one is deleted when somebody opens the index to write ten minutes later.

        Raises:
            IndexUnavailable: Not all that was written can be found, or there are no pages where
                there were some. The former version stays in its place.
        """
        await self._seen(seen_within_seconds)
        current = await self._parts.versions.current(self._name)
        new, former = self._begun.index, current.index
        catalogue = self._parts.catalogue
        if await catalogue.holds_pages(former) and not await catalogue.holds_pages(new):
            raise IndexUnavailable(
                f"The new version {new!r} holds no pages, but {former!r} does; it stays as it is."
            )
        return (await self._parts.versions.finish(self._name, self._begun)).index

    async def close(self) -> None:
        await self.index.close()

    async def _seen(self, seconds: float) -> None:
        """Wait until as many chunks are found as the pages are said to have."""
        ends = asyncio.get_running_loop().time() + seconds
        while True:
            said = await self._parts.catalogue.chunks_said(self._begun.index)
            found = await count(self._parts.connection, self._begun.index, equals("kind", CHUNK))
            if said == found:
                return
            if asyncio.get_running_loop().time() >= ends:
                raise IndexUnavailable(
                    f"The new version {self._begun.index!r} holds {found} chunks, but its pages "
                    f"have {said}. Run the rebuild again; the former version stays as it is."
                )
            await asyncio.sleep(_LOOKED_EVERY_SECONDS)

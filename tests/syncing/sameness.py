"""What an index holds, to be compared with another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingestion.progress import Silent
from ingestion.sync import sync
from rag.index.embedded import fingerprint_of, open_index
from rag.ports import SearchIndex
from rag.types import Chunk, Page, Principal, Readers
from tests.syncing.follower import TENANT, Follower


@dataclass(frozen=True)
class Held:
    """A page and its chunks; without chunks where nobody may read them."""

    page: Page
    chunks: tuple[Chunk, ...]


async def held(index: SearchIndex, spaces: Sequence[str]) -> dict[tuple[str, str], Held]:
    """Return all that an index holds, by space and page."""
    found = {}
    for space in spaces:
        for page in (await index.pages(TENANT, space)).values():
            chunks = await index.page(TENANT, space, page.id, _some_of(page.readers))
            found[space, page.id] = Held(page, chunks)
    return found


async def held_afresh(
    follower: Follower, spaces: Sequence[str], at: Path
) -> dict[tuple[str, str], Held]:
    """Return what a first sync into an empty index of its own gives."""
    at.mkdir(parents=True, exist_ok=True)
    index = await open_index(at / "fresh.sqlite", fingerprint_of(follower.embedder))
    try:
        for space in spaces:
            source = await follower.sources.of(space)
            report = await sync(
                source, index, follower.embedder, tenant=TENANT, progress=Silent()
            )
            assert report.failed == ()
        return await held(index, spaces)
    finally:
        await index.close()


def _some_of(readers: Readers) -> frozenset[Principal]:
    return frozenset[Principal]().union(*readers)

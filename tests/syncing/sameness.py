"""What an index holds, to be compared with another.

Where links in a text lead is no part of it: they are as of when that text was read. A page that
was renamed is still found there, and one that is gone is so for who reads the wiki, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from ingestion.sync.report import NoProgress
from ingestion.sync.sync import sync
from rag.index.embedded.index import fingerprint_of, open_index
from rag.ports import SearchIndex
from rag.types import Chunk, Page, Principal, Readers
from tests.syncing.follower import TENANT, Follower

_LINK = re.compile(r" \(https?://[^)\s]*\)")


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
            found[space, page.id] = Held(page, tuple(map(_without_links, chunks)))
    return found


async def held_afresh(
    follower: Follower, spaces: Sequence[str], at: Path
) -> dict[tuple[str, str], Held]:
    """Return what a first sync into an empty index of its own gives."""
    index = await open_index(at, fingerprint_of(follower.embedder))
    try:
        for space in spaces:
            source = await follower.sources.of(space)
            report = await sync(
                source, index, follower.embedder, tenant=TENANT, progress=NoProgress()
            )
            assert report.failed == ()
        return await held(index, spaces)
    finally:
        await index.close()


def _without_links(chunk: Chunk) -> Chunk:
    return replace(chunk, text=_LINK.sub("", chunk.text))


def _some_of(readers: Readers) -> frozenset[Principal]:
    return frozenset[Principal]().union(*readers)


def differences(mine: dict[tuple[str, str], Held], fresh: dict[tuple[str, str], Held]) -> list[str]:
    """Say what differs, page by page."""
    found = [f"{key} is only indexed" for key in sorted(mine.keys() - fresh.keys())]
    found += [f"{key} is not indexed" for key in sorted(fresh.keys() - mine.keys())]
    for key in sorted(mine.keys() & fresh.keys()):
        if mine[key] != fresh[key]:
            found += [f"{key}:", *_unlike(mine[key], fresh[key])]
    return found


def _unlike(mine: Held, fresh: Held) -> list[str]:
    told = [] if mine.page == fresh.page else [f"  {mine.page}", f"  {fresh.page}"]
    for one, other in zip_longest(mine.chunks, fresh.chunks):
        if one != other:
            told += [f"  {one}", f"  {other}"]
    return told

"""How fast the pages of a wiki are read that takes its time: one after the other, and ahead.

``python -m tests.bench.bench_reading [--pages 400] [--milliseconds 50]``

Listed, read, converted and cut, and written to memory without embedding.
"""

from __future__ import annotations

import argparse
import asyncio
import time

from ingestion.confluence.permissions import Rules
from ingestion.confluence.source import ConfluenceSource
from ingestion.sync.report import NoProgress
from ingestion.sync.sync import sync
from ingestion.types import Document, Listing, SourcePage
from tests.fakes.confluence.faults import slow
from tests.fakes.confluence.generator import wiki_site
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.tokens import wiki_at
from tests.fakes.ingestion import MemoryIndex


class OneByOne:
    """A source without what it is able to do besides."""

    def __init__(self, source: ConfluenceSource) -> None:
        self._source = source
        self.space = source.space
        self.type = source.type
        self.at_once = 1

    async def list(self) -> Listing:
        return await self._source.list()

    async def read(self, page: SourcePage) -> Document:
        return await self._source.read(page)


async def measure(pages: int, seconds: float, *, ahead: bool) -> float:
    """Return pages a second of a whole first pass."""
    site = wiki_site(pages=pages, spaces=["IT"], people=6)
    async with LocalConfluence(site, "cloud").serving() as server:
        server.faults.fail_always("page", slow(seconds))
        wiki = wiki_at(server)
        try:
            source = ConfluenceSource(wiki, "IT", Rules())
            begun = time.monotonic()
            report = await sync(
                source if ahead else OneByOne(source),
                MemoryIndex(),
                None,
                tenant="bench",
                progress=NoProgress(),
            )
            return len(report.added) / (time.monotonic() - begun)
        finally:
            await wiki.close()


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--milliseconds", type=float, default=50)
    options = parser.parse_args()
    for ahead in (False, True):
        measured = measure(options.pages, options.milliseconds / 1000, ahead=ahead)
        told = "several at once" if ahead else "one by one"
        print(f"{told}: {asyncio.run(measured):.0f} pages/s")


if __name__ == "__main__":
    main()

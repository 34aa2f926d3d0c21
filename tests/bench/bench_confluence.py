"""What it takes to follow a large space of Confluence: rate, requests, embeddings, memory.

``python -m tests.bench.bench_confluence [--pages 10000] [--real-pages 500]``

The wiki is in this process; each pass is in one of its own, so that neither counts the other's
time and memory. Both share the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ingestion.confluence.assembly import open_wiki
from ingestion.confluence.permissions import Rules
from ingestion.confluence.source import ConfluenceSource
from ingestion.documents.chunker import PageLocation, chunk_document, chunk_sizes
from ingestion.sync.report import NoProgress
from ingestion.sync.sync import SyncScope, sync
from ingestion.types import Extent
from rag.embedding import embedding_text
from rag.garbage_collection import freeze_startup_objects
from rag.index.embedded.index import fingerprint_of, open_index
from rag.models.local_embedder import open_local_embedder
from rag.ports import Embedder
from rag.types import Vectors
from tests.bench.aims import Aim, print_aims
from tests.fakes.confluence.generator import wiki_site
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN
from tests.fork_server import ROOT

SPACE, TENANT = "IT", "bench"
LEAST_RATIO = 0.90
MOST_BYTES = 500 * 1024**2
PAGES_A_REQUEST = 100
_DIMENSIONS = 64


class CountingEmbedder:
    """Implements Embedder at no cost; ``texts`` is how many were embedded."""

    name, dimensions, max_tokens = "counting@1", _DIMENSIONS, 512

    def __init__(self) -> None:
        self.texts = 0

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    async def embed_query(self, text: str) -> Vectors:
        first: Vectors = (await self.embed([text]))[0]
        return first

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        signs = [hashlib.sha512(text.encode()).digest() for text in texts]
        rows = np.array([[byte - 127.5 for byte in each] for each in signs], dtype=np.float32)
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


@dataclass(frozen=True, slots=True)
class Passed:
    """What one pass did and took. ``raw_seconds`` is what embedding the same texts alone takes."""

    pages: int
    chunks: int
    embedded: int
    seconds: float
    bytes: int
    watermark: str
    raw_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pass to make, in a process of its own."""

    url: str
    email: str
    token: str
    index: str
    real: bool
    extent: Extent
    watermark: str = ""


async def make(wanted: Wanted) -> Passed:
    """Make a pass, and tell what it took beyond what is there before it."""
    wiki = open_wiki(url=wanted.url, email=wanted.email, token=wanted.token, edition="cloud")
    source = ConfluenceSource(wiki, SPACE, Rules())
    async with _embedder(real=wanted.real) as embedder:
        texts = await _texts(source, embedder) if wanted.real else []
        raw = await _raw(embedder, texts)
        index = await open_index(Path(wanted.index), fingerprint_of(embedder))
        before, began = _peak(), time.perf_counter()
        try:
            report = await sync(
                source,
                index,
                embedder,
                tenant=TENANT,
                scope=SyncScope(wanted.extent, watermark=wanted.watermark),
                progress=NoProgress(),
            )
        finally:
            await index.close()
            await wiki.close()
        passed = time.perf_counter() - began
        # Before and after: what else the machine does tells on both alike.
        raw = (raw + await _raw(embedder, texts)) / 2
    assert report.failed == (), report.failed[:3]
    return Passed(
        pages=len(report.added) + len(report.changed),
        chunks=report.chunks,
        embedded=report.embedded,
        seconds=passed,
        bytes=_peak() - before,
        watermark=report.watermark,
        raw_seconds=raw,
    )


async def _texts(source: ConfluenceSource, embedder: Embedder) -> list[str]:
    """Return what a first pass embeds, in its order."""
    texts, measure = [], chunk_sizes(embedder)
    place = PageLocation(TENANT, SPACE, "confluence")
    for page in sorted((await source.list()).pages, key=lambda page: page.id):
        document = await source.read(page)
        texts += [embedding_text(c) for c in chunk_document(document, page, place, measure)]
    await embedder.embed(texts[:16])
    return texts


async def _raw(embedder: Embedder, texts: Sequence[str]) -> float:
    """Return the seconds that embedding alone takes."""
    if not texts:
        return 0.0
    began = time.perf_counter()
    await embedder.embed(texts)
    return time.perf_counter() - began


@asynccontextmanager
async def _embedder(*, real: bool) -> AsyncIterator[Embedder]:
    if not real:
        yield CountingEmbedder()
        return
    embedder = await open_local_embedder()
    try:
        yield embedder
    finally:
        embedder.close()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@dataclass
class Bench:
    """A wiki of so many pages, served, and the passes over it."""

    server: LocalConfluence
    index: str

    async def make(
        self, *, real: bool = False, extent: Extent = "all", watermark: str = ""
    ) -> tuple[Passed, Counter[str]]:
        """Return what a pass took, and how many requests of which kind."""
        person = self.server.site.people[ADMIN]
        wanted = Wanted(
            url=self.server.url,
            email=person.email,
            token=person.token,
            index=self.index,
            real=real,
            extent=extent,
            watermark=watermark,
        )
        self.server.requests.clear()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.bench.bench_confluence", "--make"),
            json.dumps(asdict(wanted)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
        assert process.returncode == 0, "a pass failed; its error is above"
        return Passed(**json.loads(out)), Counter(each.kind for each in self.server.requests)


@asynccontextmanager
async def wiki_of(pages: int) -> AsyncIterator[Bench]:
    """Serve a wiki whose last change is a while ago."""
    site = wiki_site(pages=pages, spaces=[SPACE])
    site.pass_time(7200)
    with tempfile.TemporaryDirectory() as directory:
        async with LocalConfluence(site).serving() as server:
            yield Bench(server, str(Path(directory, "index.sqlite")))


async def measure(pages: int, real_pages: int) -> int:
    """Print all figures; return 0 if all aims are held."""
    async with wiki_of(pages) as bench:
        print(f"{pages} pages, an embedder that costs nothing")
        first, asked = await bench.make()
        _row("first pass", first, asked)
        quiet, few = await bench.make(extent="changes", watermark=first.watermark)
        _row("changes, none", quiet, few)
        whole, many = await bench.make(watermark=first.watermark)
        _row("everything, unchanged", whole, many)
    async with wiki_of(real_pages) as bench:
        real, asked = await bench.make(real=True)
    ratio = real.raw_seconds / real.seconds
    print(f"{real_pages} pages, the embedder that comes with Frontdesk")
    print(f"  embedder alone  {real.chunks / real.raw_seconds:7.1f} chunks/s")
    print(f"  first pass      {real.chunks / real.seconds:7.1f} chunks/s, ratio {ratio:.2f}")
    most = max(each.bytes for each in (first, quiet, whole, real)) / 1024**2
    return print_aims(
        Aim("following Confluence over the bare embedder", ratio, LEAST_RATIO, least=True),
        Aim("requests where nothing changed", few.total(), max(1, pages // PAGES_A_REQUEST)),
        Aim("embeddings of what did not change", quiet.embedded + whole.embedded, 0),
        Aim("memory beyond the embedder", most, MOST_BYTES / 1024**2, "MB"),
    )


def _row(name: str, passed: Passed, asked: Counter[str]) -> None:
    rate = passed.pages / passed.seconds
    most = ", ".join(f"{kind} {times}" for kind, times in asked.most_common(4))
    print(
        f"  {name:22} {passed.seconds:6.1f} s  {rate:6.0f} pages/s  {passed.embedded:6} embedded  "
        f"{passed.bytes / 1024**2:4.0f} MB  {asked.total():6} requests ({most})"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; exit code 1 when an aim is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_confluence")
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--real-pages", type=int, default=500)
    parser.add_argument("--make", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.make:
        # As the command and the server do before they index.
        freeze_startup_objects()
        passed = asyncio.run(make(Wanted(**json.loads(options.make))))
        print(json.dumps(asdict(passed)))
        return 0
    return asyncio.run(measure(options.pages, options.real_pages))


if __name__ == "__main__":
    sys.exit(main())

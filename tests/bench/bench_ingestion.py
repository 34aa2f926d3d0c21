"""How much of the bare embedder's speed a sync reaches, on the same chunks in the same run.

``python -m tests.bench.bench_ingestion [FOLDER]``
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ingestion.documents.chunker import PageLocation, chunk_document, chunk_sizes
from ingestion.errors import PageUnreadable
from ingestion.folder import FolderSource
from ingestion.sync.report import NoProgress
from ingestion.sync.sync import EVERYONE_READS, sync
from rag.embedding import embedding_text
from rag.garbage_collection import freeze_startup_objects
from rag.index.embedded.index import fingerprint_of, open_index
from rag.models.local_embedder import WORDS_KEPT, LocalEmbedder, open_local_embedder
from tests.bench.aims import Aim, print_aims

SAMPLE = Path("infra/sample")
AIM = 0.95
ROUNDS = 9
TENANT, SPACE = "bench", "bench"


@dataclass(frozen=True, slots=True)
class Speed:
    """The seconds of each bare pass, and of each sync between two of them."""

    folder: str
    chunks: int
    bare: Sequence[float]
    syncs: Sequence[float]

    @property
    def ratio(self) -> float:
        """The share of the bare embedder's speed that a sync reaches, the median of all.

        Each sync is compared with the bare passes right before and after it: a machine's pace
        changes from minute to minute by more than what is measured.
        """
        beside = [statistics.mean(two) for two in pairwise(self.bare)]
        return statistics.median(a / b for a, b in zip(beside, self.syncs, strict=True))

    def rate(self, seconds: Sequence[float]) -> float:
        """Return the chunks a second, the median of passes."""
        return self.chunks / statistics.median(seconds)


async def measure(folder: Path, rounds: int = ROUNDS) -> Speed:
    """Embed the folder's chunks bare, and sync it into a new index, in turns."""
    embedder = await open_local_embedder()
    try:
        texts = await _texts(folder, embedder)
        # Not measured: onnxruntime plans its memory once for each length of text.
        await embedder.embed(texts)
        bare, syncs = [await _embed(embedder, texts)], []
        for _ in range(rounds):
            syncs.append(await _sync(folder, embedder))
            bare.append(await _embed(embedder, texts))
    finally:
        embedder.close()
    return Speed(folder.name, len(texts), bare, syncs)


async def _texts(folder: Path, embedder: LocalEmbedder) -> list[str]:
    """Return what a sync embeds, in its order."""
    source, place = _source(folder), PageLocation(TENANT, SPACE, "folder")
    sizes = chunk_sizes(embedder)
    texts = []
    for page in (await source.list()).pages:
        try:
            document = await source.read(page)
        except PageUnreadable:
            continue
        texts += [embedding_text(c) for c in chunk_document(document, page, place, sizes)]
    return texts


async def _embed(embedder: LocalEmbedder, texts: Sequence[str]) -> float:
    """Return the seconds of the embedder alone, which tokenizes the words first."""
    _forget_words(embedder)
    started = time.perf_counter()
    await embedder.embed(texts)
    return time.perf_counter() - started


async def _sync(folder: Path, embedder: LocalEmbedder) -> float:
    """Return the seconds of a first sync into a new index, of words that are new, too."""
    _forget_words(embedder)
    with tempfile.TemporaryDirectory() as directory:
        index = await open_index(Path(directory) / "index.sqlite", fingerprint_of(embedder))
        try:
            started = time.perf_counter()
            await sync(_source(folder), index, embedder, tenant=TENANT, progress=NoProgress())
            return time.perf_counter() - started
        finally:
            await index.close()


def _forget_words(embedder: LocalEmbedder) -> None:
    """Show the embedder more words than it keeps, so that it knows none of the texts' words."""
    embedder.count_tokens(" ".join(str(number) for number in range(WORDS_KEPT + 1)))


def _source(folder: Path) -> FolderSource:
    return FolderSource(folder, space=SPACE, readers=EVERYONE_READS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the speeds; exit code 1 when the ratio is below the aim."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_ingestion")
    parser.add_argument("folder", type=Path, nargs="?", default=SAMPLE)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        print(f"{str(options.folder)!r} is no folder; name one.", file=sys.stderr)
        return 2
    # As the command and the server do before they index.
    freeze_startup_objects()
    speed = asyncio.run(measure(options.folder, options.rounds))
    print(f"{speed.folder}: {speed.chunks} chunks, median of {len(speed.syncs)} rounds")
    print(f"embedder alone  {speed.rate(speed.bare):6.1f} chunks/s")
    print(f"whole sync      {speed.rate(speed.syncs):6.1f} chunks/s")
    return print_aims(Aim("ingestion over the bare embedder", speed.ratio, AIM, least=True))


if __name__ == "__main__":
    sys.exit(main())

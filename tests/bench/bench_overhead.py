"""What the desk adds to a question besides model and embedder, on a synthetic index.

``python -m tests.bench.bench_overhead [--chunks 10000] [--questions 300] [--json FILE]``

Vectors cost nothing here (they are drawn from a seeded generator), so what is left is routing,
search, composing, gate and the record. The two largest parts are printed beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bot.desk import Desk
from bot.escalation import EscalationWording
from bot.gate import load_gate
from bot.generic import GenericAnswers
from bot.intents.classifier import load_classifier
from bot.router import Router
from bot.store import Store, open_store, sqlite_url
from bot.types import Inquiry, Stage
from rag.extractive import ExtractiveComposer
from rag.index.embedded import EmbeddedIndex, open_index
from rag.index.schema import SCHEMA
from rag.pipeline import Pipeline
from rag.types import Fingerprint, Page, Vectors
from tests.builders import ALL, chunk, inquiry, message

PARTS = ("route", "search", "compose", "features")
WORDS = 3000
WORDS_A_CHUNK = 120
CHUNKS_A_PAGE = 10
COMMONEST = 30
"""The most frequent words stand for stop words: questions are not searched by them."""


class FreeEmbedder:
    """Vectors out of thin air: the same text always gets the same one."""

    name = "free@1"
    dimensions = 384
    max_tokens = 256

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._draw(1, len(text))[0]
        return vector

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return self._draw(len(texts), len(texts))

    def _draw(self, count: int, seed: int) -> Vectors:
        drawn = np.random.default_rng(seed).standard_normal((count, self.dimensions))
        unit: Vectors = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
        return unit


async def fill(index: EmbeddedIndex, embedder: FreeEmbedder, chunks: int) -> None:
    """Write pages of sentences of made-up words, their frequencies as in real text (Zipf)."""
    draw = np.random.default_rng(7)
    for page in range(chunks // CHUNKS_A_PAGE):
        made = []
        for ordinal in range(CHUNKS_A_PAGE):
            numbers = draw.zipf(1.3, WORDS_A_CHUNK) % WORDS
            sentences = [
                " ".join(f"word{n}" for n in numbers[at : at + 12]).capitalize() + "."
                for at in range(0, WORDS_A_CHUNK, 12)
            ]
            made.append(
                chunk(
                    " ".join(sentences),
                    chunk_id=f"{page}-{ordinal}",
                    page_id=f"p{page}",
                    title=f"Page {page}",
                    ordinal=ordinal,
                )
            )
        vectors = await embedder.embed([each.text for each in made])
        await index.upsert_page(Page("default", "IT", f"p{page}", "1", ALL), made, vectors)


def desk_over(index: EmbeddedIndex, embedder: FreeEmbedder) -> Desk:
    """Return the desk as it is served without a model."""
    return Desk(
        router=Router(embedder, load_classifier(), None),
        generic=GenericAnswers(None),
        pipeline=Pipeline(index, embedder, ExtractiveComposer(embedder)),
        gate=load_gate(0.65),
        wording=EscalationWording(not_found="", uncertain=""),
    )


async def quiet(_: Stage) -> None:
    """Show nothing."""


async def measure(desk: Desk, store: Store, questions: int) -> dict[str, list[float]]:
    """Return milliseconds by part, a value a question; the first few warm up."""
    draw = np.random.default_rng(11)
    times: dict[str, list[float]] = {part: [] for part in ("all", "record", *PARTS)}
    for number in range(questions + 10):
        words = " ".join(f"word{n}" for n in draw.integers(COMMONEST, WORDS, 6))
        asked: Inquiry = inquiry(message(f"how do I use {words}", message_id=str(number)))
        started = time.perf_counter()
        await store.interactions.open(asked.message)
        opened = time.perf_counter()
        outcome = await desk.handle(asked, quiet)
        handled = time.perf_counter()
        await store.interactions.close(asked.message.interaction_id, outcome)
        ended = time.perf_counter()
        if number >= 10:
            times["all"].append((ended - started) * 1000)
            times["record"].append((opened - started + ended - handled) * 1000)
            for part in PARTS:
                times[part].append(outcome.trace.timings_ms.get(part, 0.0))
    return times


async def run(chunks: int, questions: int) -> dict[str, float]:
    """Return p50 and p95 by part, in milliseconds."""
    embedder = FreeEmbedder()
    with tempfile.TemporaryDirectory() as folder:
        expected = Fingerprint(embedder.name, embedder.dimensions, SCHEMA)
        index = await open_index(Path(folder) / "index.sqlite", expected)
        store = await open_store(sqlite_url(Path(folder)))
        try:
            await fill(index, embedder, chunks)
            times = await measure(desk_over(index, embedder), store, questions)
        finally:
            await store.close()
            await index.close()
    return {
        f"{part}_p{rank}": float(np.percentile(values, rank))
        for part, values in times.items()
        for rank in (50, 95)
    }


def main() -> None:
    """Print the table; write it as JSON when asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = asyncio.run(run(options.chunks, options.questions))
    print(f"own overhead a question at {options.chunks:,} chunks, ms")
    for part in ("all", *PARTS, "record"):
        print(f"  {part:<8} p50 {figures[f'{part}_p50']:6.1f}   p95 {figures[f'{part}_p95']:6.1f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
